-- $1 project, $2 queue, $3 key: waits until nobody has it in an open transaction. To be rolled back.
INSERT INTO publish_keys (project, queue, key, hash, message_id, published_at, visible_at, expires_at) VALUES ($1, $2, $3, sha256(''), 0, now(), now(), now()) ON CONFLICT DO NOTHING
