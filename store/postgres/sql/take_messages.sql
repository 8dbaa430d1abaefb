-- $1 limit, $2 groups to visit, $3 least quantum of a visit. Groups and messages are locked, and none is waited for. A row for each message
-- taken, after its group and that group's hold; and one with message 0 for each group visited that had none.
WITH r AS MATERIALIZED (
  SELECT id, slots - in_flight AS free, hold_s, next_at FROM groups
  WHERE queue = 1 AND runnable AND next_at <= now()
  ORDER BY next_at, id LIMIT $2 FOR UPDATE SKIP LOCKED
), g AS MATERIALIZED ( -- few groups have work: each gets more than the quantum
  SELECT id, hold_s, next_at, least(free, greatest($3::int, ($1::int + n - 1) / n)) AS want
  FROM (SELECT *, count(*) OVER () AS n FROM r) x ORDER BY next_at, id
), c AS MATERIALIZED (
  SELECT m.* FROM g, LATERAL (
    SELECT * FROM messages WHERE gid = g.id AND NOT leased AND prio = 0 AND vis <= now() AND receives < max_receives
    ORDER BY vis, id LIMIT g.want FOR UPDATE SKIP LOCKED) m
  LIMIT $1
)
SELECT coalesce(c.id, 0), coalesce(c.project, 0), coalesce(c.queue, 0), coalesce(c.gid, 0), coalesce(c.prio, 0), coalesce(c.receives, 0),
       coalesce(c.max_receives, 0), coalesce(c.lease_no, 0), coalesce(c.leased, false), coalesce(c.receipt_open, false),
       coalesce(c.vis, '0001-01-01Z'), coalesce(c.published_at, '0001-01-01Z'), coalesce(c.origin_at, '0001-01-01Z'),
       coalesce(c.received_at, '0001-01-01Z'), coalesce(c.expires_at, '0001-01-01Z'), coalesce(c.retention_s, 0), coalesce(c.claim_id, 0),
       coalesce(c.source_queue, 0), coalesce(c.source_gid, 0), coalesce(c.dead_at, '0001-01-01Z'), coalesce(c.last_error, ''),
       g.id, g.hold_s
FROM g LEFT JOIN c ON c.gid = g.id
ORDER BY g.next_at, g.id, c.vis, c.id
