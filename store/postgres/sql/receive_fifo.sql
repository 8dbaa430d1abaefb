-- receive_group.sql for a fifo queue: $1 queue id, $2 limit, $3 lease_s, $4 groups to visit, $5 the turn at which to begin. Of each group its head or
-- nothing: one that is put off parks its group. A group is looked at only by a snapshot that sees the last change of it, or its head could be another.
WITH s0 AS MATERIALIZED (                       -- as they are seen before any is locked
  SELECT id, tick, next_at FROM groups WHERE queue = $1 AND runnable AND next_at <= now() AND next_at >= $5 ORDER BY next_at, id LIMIT $4::int + 50
), g AS MATERIALIZED (
  SELECT g.id, name, g.next_at, g.place, s0.tick, pg_visible_in_snapshot(wake_xid, pg_current_snapshot()) AS sees
  FROM s0 JOIN groups g ON g.id = ANY (ARRAY[s0.id]) AND g.tick >= s0.tick
  WHERE g.runnable AND g.next_at <= now() AND g.place IS NOT NULL
  ORDER BY s0.next_at, s0.id LIMIT $4 FOR UPDATE OF g SKIP LOCKED
), h AS MATERIALIZED (
  SELECT g.*, x.id AS head, x.place AS at, x.vis, row_number() OVER (ORDER BY g.next_at, g.id) AS turn
  FROM g LEFT JOIN LATERAL (SELECT m.id, m.place, m.vis FROM messages m WHERE m.gid = g.id AND m.place >= g.place ORDER BY m.place LIMIT 1) x ON g.sees
), c AS MATERIALIZED (
  SELECT m.id, m.vis, h.id AS of, h.turn FROM h JOIN messages m ON m.id = ANY (ARRAY[h.head])
  WHERE m.gid IS NOT DISTINCT FROM h.id AND m.place IS NOT DISTINCT FROM h.at AND NOT m.leased AND m.vis <= now() AND m.receives < m.max_receives
  ORDER BY h.turn LIMIT $2 FOR UPDATE OF m SKIP LOCKED
), s AS MATERIALIZED (
  SELECT c.*, coalesce((SELECT octet_length(b.body) FROM bodies b WHERE b.id = c.id), 0) AS size FROM c
), t AS MATERIALIZED (                       -- ends at 8 MiB of bodies, save that one always goes
  SELECT * FROM (SELECT s.*, row_number() OVER w AS n, sum(s.size) OVER w AS total FROM s WINDOW w AS (ORDER BY turn)) x
  WHERE n = 1 OR total <= 8388608
), u AS (
  UPDATE messages m SET vis = now() + $3 * interval '1 s', leased = true, receipt_open = true, lease_no = m.lease_no + 1,
         receives = m.receives + (m.max_receives <> 32767)::int, received_at = now()
  FROM t WHERE m.id = ANY (ARRAY[t.id])
  RETURNING m.*, t.n, t.vis AS was_due
), gu AS (
  UPDATE groups x SET in_flight = x.in_flight + (v.taken IS NOT NULL)::int, tick = greatest(x.tick, group_tick()), place = coalesce(v.at, x.place),
    next_at = CASE
      WHEN v.taken IS NOT NULL OR NOT v.sees THEN now()         -- to the tail
      WHEN v.head IS NULL THEN NULL
      WHEN v.vis > now() THEN v.vis                             -- parks until its head is due
      WHEN (SELECT count(*) FROM t) > 0 THEN x.next_at          -- not its fault, perhaps: keeps its turn
      ELSE now() END                                            -- somebody has its head
  FROM (SELECT h.*, t.id AS taken FROM h LEFT JOIN t ON t.of = h.id) v WHERE x.id = ANY (ARRAY[v.id]) AND x.tick >= v.tick
)
SELECT u.id, project, queue, coalesce(gid, 0), prio, coalesce(place, 0), receives, max_receives, lease_no, leased, receipt_open, vis, published_at, origin_at,
       coalesce(received_at, '0001-01-01Z'), expires_at, retention_s, coalesce(claim_id, 0), 0::bigint, 0::bigint, '0001-01-01Z'::timestamptz, coalesce(last_error, ''),
       b.body, coalesce(b.headers::text, ''), (SELECT g.name FROM g WHERE g.id = u.gid), '', was_due, (SELECT min(next_at) FROM s0)
FROM u LEFT JOIN bodies b ON b.id = ANY (ARRAY[u.id]) ORDER BY n
