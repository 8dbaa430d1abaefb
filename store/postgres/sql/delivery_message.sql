-- A message that brings a delivery back: $1 id, $2 project, $3 endpoint, $4 claim, $5 the delivery's event
INSERT INTO messages (id, project, queue, gid, max_receives, vis, expires_at, retention_s, claim_id, origin_at)
SELECT $1, $2, q.id, $3, q.max_receives, now(), now() + q.retention_s * interval '1 s', q.retention_s, $4, e.created_at
FROM queues q, events e WHERE q.id = 1 AND e.id = $5
