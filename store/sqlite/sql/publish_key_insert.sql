INSERT INTO publish_keys (project, queue, key, hash, message_id, published_at, visible_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
