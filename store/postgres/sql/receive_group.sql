-- $1 queue id, $2 limit, $3 lease_s, $4 groups to visit, $5 low of the ungrouped as in receive_plain.sql, $6 bytes as its $5, $7 the turn at which to begin. Groups take turns: next_at is a group's turn, and since when it has work. The group ''
-- stands for all ungrouped messages. Waits for nobody: groups and messages are taken with SKIP LOCKED. The rule is queue.Row.Receive.
WITH s0 AS MATERIALIZED (                       -- as they are seen before any is locked
  SELECT id, tick, next_at FROM groups WHERE queue = $1 AND runnable AND next_at <= now() AND next_at >= $7 ORDER BY next_at, id LIMIT $4::int + 50
), r AS MATERIALIZED (
  SELECT g.id, name, name = '' AS plain, slots - in_flight AS free, wake_xid, g.next_at, least(low, g.next_at) AS low, s0.tick
  FROM s0 JOIN groups g ON g.id = ANY (ARRAY[s0.id]) AND g.tick >= s0.tick
  WHERE g.runnable AND g.next_at <= now()
  ORDER BY s0.next_at, s0.id LIMIT $4 FOR UPDATE OF g SKIP LOCKED
), g AS MATERIALIZED (
  SELECT id, name, plain, least(free, ($2::int + n - 1) / n) AS want, wake_xid, low, tick, row_number() OVER (ORDER BY next_at, id) AS turn
  FROM (SELECT *, count(*) OVER () AS n FROM r) x ORDER BY next_at, id
), c AS MATERIALIZED (
  SELECT m.id, m.prio, m.vis, g.id AS of, g.turn FROM g, LATERAL (
    SELECT x.id, p.prio, x.vis FROM generate_series(9, 0, -1) AS p(prio), LATERAL (
      SELECT * FROM (SELECT id, vis FROM messages
        WHERE NOT g.plain AND gid = g.id AND NOT leased AND prio = p.prio AND vis >= g.low AND vis <= now() AND receives < max_receives
        ORDER BY vis, id LIMIT g.want FOR UPDATE SKIP LOCKED) a
      UNION ALL
      SELECT * FROM (SELECT id, vis FROM messages
        WHERE g.plain AND queue = $1 AND gid IS NULL AND prio = p.prio AND vis >= ($5::timestamptz[])[10 - p.prio] AND vis <= now()
          AND (receives < max_receives OR dead_at IS NOT NULL)
        ORDER BY vis, id LIMIT g.want FOR UPDATE SKIP LOCKED) b) x
    LIMIT g.want) m
  LIMIT $2
), s AS MATERIALIZED (
  SELECT c.*, coalesce((SELECT octet_length(b.body) FROM bodies b WHERE b.id = c.id), 0) AS size FROM c
), t AS MATERIALIZED (                       -- ends at 8 MiB of bodies, save that the receive's first always goes
  SELECT * FROM (SELECT s.*, row_number() OVER w + $6::bigint AS n, sum(s.size) OVER w + $6::bigint AS total FROM s WINDOW w AS (ORDER BY turn, prio DESC, vis, id)) x
  WHERE n = 1 OR total <= 8388608
), u AS (
  UPDATE messages m SET vis = now() + $3 * interval '1 s', leased = true, receipt_open = true, lease_no = m.lease_no + 1,
         receives = m.receives + (m.dead_at IS NULL AND m.max_receives <> 32767)::int, received_at = now()
  FROM t WHERE m.id = ANY (ARRAY[t.id])
  RETURNING m.*, t.n, t.vis AS was_due
), v AS (
  SELECT *, sees AND (all_due OR coalesce(first > low + interval '200 ms', false)) AS looks FROM ( -- to park it, or since it passed over much
    SELECT *, NOT plain AND pg_visible_in_snapshot(wake_xid, pg_current_snapshot()) AS sees,    -- all that was added
           NOT cut AND got < want AS all_due FROM (
      SELECT g.id, g.plain, g.want, g.wake_xid, g.low, g.tick, count(t.id) AS got, array_agg(t.id) AS ids, min(t.vis) AS first,
             (SELECT count(*) FROM c) >= $2 OR (SELECT count(*) FROM t) < (SELECT count(*) FROM c) AS cut
      FROM g LEFT JOIN t ON t.of = g.id GROUP BY g.id, g.plain, g.want, g.wake_xid, g.low, g.tick) a) b
), gu AS (
  UPDATE groups x SET in_flight = x.in_flight + CASE WHEN v.plain THEN 0 ELSE v.got END, tick = greatest(x.tick, group_tick()), (next_at, low) = (
    SELECT CASE
        WHEN v.got = 0 AND v.cut THEN x.next_at                 -- not its fault: keeps its turn
        WHEN NOT v.sees OR NOT v.all_due THEN now()             -- perhaps more: to the tail
        WHEN h.vis IS NOT NULL THEN greatest(h.vis, now()) END, -- parks until the next head is due
      CASE WHEN v.looks THEN coalesce(h.vis, 'infinity') ELSE v.low END
    FROM (SELECT CASE WHEN v.looks THEN (                       -- the first that is left; one that was skipped as locked counts
      SELECT min(y.vis) FROM generate_series(9, 0, -1) AS p(prio), LATERAL (
        SELECT vis FROM messages WHERE gid = x.id AND NOT leased AND prio = p.prio AND vis >= v.low
          AND (v.got = 0 OR id <> ALL (v.ids)) ORDER BY vis, id LIMIT 1) y) END AS vis OFFSET 0) h) -- OFFSET: looked for once
  FROM v WHERE x.id = ANY (ARRAY[v.id]) AND x.tick >= v.tick -- that of before the lock, which this statement sees
)
SELECT u.id, project, queue, coalesce(gid, 0), prio, coalesce(place, 0), receives, max_receives, lease_no, leased, receipt_open, vis, published_at, origin_at,
       coalesce(received_at, '0001-01-01Z'), expires_at, retention_s, coalesce(claim_id, 0), coalesce(source_queue, 0), coalesce(source_gid, 0),
       coalesce(dead_at, '0001-01-01Z'), coalesce(last_error, ''),
       b.body, coalesce(b.headers::text, ''),
       CASE WHEN u.gid IS NOT NULL THEN (SELECT g.name FROM g WHERE g.id = u.gid) WHEN source_gid IS NULL THEN ''
         ELSE coalesce((SELECT z.name FROM group_names z WHERE z.id = u.source_gid), '') END,
       coalesce((SELECT q.name FROM queues q WHERE q.id = u.source_queue), ''), was_due, (SELECT min(next_at) FROM s0)
FROM u LEFT JOIN bodies b ON b.id = ANY (ARRAY[u.id]) ORDER BY n
