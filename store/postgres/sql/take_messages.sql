-- $1 limit, $2 groups to visit at most, $3 least quantum of a visit, $4 most that a group may have in flight, $5 the turn at which to begin. Groups are locked as they are visited, their messages with them, and none
-- is waited for. A row for each message taken, then its group, that group's hold and tick, and the first turn; a group that had none has one with message 0.
WITH s AS MATERIALIZED ( -- as they are seen before any is locked, with those that $4 passes by
  SELECT next_at, in_flight FROM groups WHERE queue = 1 AND runnable AND next_at <= now() AND next_at >= $5 ORDER BY next_at, id LIMIT $2::int + 50
), n AS MATERIALIZED ( -- few groups have work: each gets more than the quantum
  SELECT greatest($3::int, ($1::int + greatest(1, count(*)) - 1) / greatest(1, count(*))) AS want
  FROM (SELECT 1 FROM s WHERE in_flight < $4 LIMIT $2) x
)
SELECT coalesce(m.id, 0), coalesce(m.project, 0), coalesce(m.queue, 0), coalesce(m.gid, 0), coalesce(m.prio, 0), 0::bigint, coalesce(m.receives, 0),
       coalesce(m.max_receives, 0), coalesce(m.lease_no, 0), coalesce(m.leased, false), coalesce(m.receipt_open, false),
       coalesce(m.vis, '0001-01-01Z'), coalesce(m.published_at, '0001-01-01Z'), coalesce(m.origin_at, '0001-01-01Z'),
       coalesce(m.received_at, '0001-01-01Z'), coalesce(m.expires_at, '0001-01-01Z'), coalesce(m.retention_s, 0), coalesce(m.claim_id, 0),
       coalesce(m.source_queue, 0), coalesce(m.source_gid, 0), coalesce(m.dead_at, '0001-01-01Z'), coalesce(m.last_error, ''),
       g.id, g.hold_s, g.tick, coalesce((SELECT min(next_at) FROM s), now())
FROM (
  SELECT id, least(slots, $4) - in_flight AS free, hold_s, tick, least(low, next_at) AS low FROM groups
  WHERE queue = 1 AND runnable AND in_flight < $4 AND next_at <= now() AND next_at >= $5 ORDER BY next_at, id LIMIT $2 FOR UPDATE SKIP LOCKED
) g LEFT JOIN LATERAL (
  SELECT * FROM messages WHERE gid = g.id AND NOT leased AND prio = 0 AND vis >= g.low AND vis <= now() AND receives < max_receives
  ORDER BY vis, id LIMIT least(g.free, (SELECT want FROM n)) FOR UPDATE SKIP LOCKED
) m ON true
LIMIT $1
