-- $1 queue id, $2 limit, $3 lease_s, $4 low: for each priority from 9 down the due time at which to begin ('-infinity': a full look), $5 bytes of bodies that the same receive has already.
-- What begins with --$ is part of it where it is sent together with receive_queue.sql (receive.go): $6 project, $7 name, $8 the wake after which to look; $3 may be 0, the queue's own.
-- One index range per priority, so that a million delayed or leased rows of a high one are never walked. The rule is queue.Row.Receive.
WITH c AS MATERIALIZED (
  SELECT m.id, p.prio, m.vis FROM unnest($4::timestamptz[]) WITH ORDINALITY AS o(low, n), LATERAL (SELECT (10 - o.n)::int2 AS prio) p, LATERAL (
    SELECT id, vis FROM messages
    WHERE queue = $1 AND gid IS NULL AND prio = p.prio AND vis >= o.low AND vis <= now() AND (receives < max_receives OR dead_at IS NOT NULL)
    ORDER BY vis, id LIMIT $2 FOR UPDATE SKIP LOCKED) m
--$ WHERE (SELECT NOT paused AND NOT grouped AND NOT EXISTS (SELECT 1 FROM wakes w WHERE w.queue = q.id AND w.id > $8) FROM queues q WHERE id = $1 AND project = $6 AND name = $7)
  LIMIT $2                                   -- lower priorities are not looked at once the limit is reached
), s AS MATERIALIZED (
  SELECT c.*, b.body, b.headers, coalesce(octet_length(b.body), 0) AS size FROM c LEFT JOIN bodies b ON b.id = ANY (ARRAY[c.id])
), t AS MATERIALIZED (                       -- ends at 8 MiB of bodies, save that the receive's first always goes
  SELECT * FROM (SELECT s.*, row_number() OVER w + $5::bigint AS n, sum(s.size) OVER w + $5::bigint AS total FROM s WINDOW w AS (ORDER BY prio DESC, vis, id)) x
  WHERE n = 1 OR total <= 8388608
), u AS (
  UPDATE messages m SET vis = now() + coalesce(nullif($3::float8, 0), (SELECT visibility_s FROM queues WHERE id = $1)) * interval '1 s', leased = true, receipt_open = true, lease_no = m.lease_no + 1,
         receives = m.receives + (m.dead_at IS NULL AND m.max_receives <> 32767)::int, received_at = now()
  FROM t WHERE m.id = ANY (ARRAY[t.id])
  RETURNING m.*, t.n, t.vis AS was_due, t.body, t.headers
)
SELECT u.id, project, queue, coalesce(gid, 0), prio, coalesce(place, 0), receives, max_receives, lease_no, leased, receipt_open, vis, published_at, origin_at,
       coalesce(received_at, '0001-01-01Z'), expires_at, retention_s, coalesce(claim_id, 0), coalesce(source_queue, 0), coalesce(source_gid, 0),
       coalesce(dead_at, '0001-01-01Z'), coalesce(last_error, ''),
       body, coalesce(headers::text, ''),
       CASE WHEN source_gid IS NULL THEN '' ELSE coalesce((SELECT z.name FROM group_names z WHERE z.id = u.source_gid), '') END,
       coalesce((SELECT q.name FROM queues q WHERE q.id = u.source_queue), ''), was_due
FROM u ORDER BY n
