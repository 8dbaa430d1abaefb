-- $1 queue, $2 after this id, $3 limit. Without bodies: their size.
SELECT id, project, queue, coalesce(gid, 0), prio, coalesce(place, 0), receives, max_receives, lease_no, leased, receipt_open, vis, published_at, origin_at,
       coalesce(received_at, '0001-01-01Z'), expires_at, retention_s, coalesce(claim_id, 0), coalesce(source_queue, 0), coalesce(source_gid, 0),
       coalesce(dead_at, '0001-01-01Z'), coalesce(last_error, ''), coalesce((SELECT octet_length(b.body) FROM bodies b WHERE b.id = messages.id), 0), now()
FROM messages WHERE queue = $1 AND queue > 0 AND id > $2 ORDER BY id LIMIT $3
