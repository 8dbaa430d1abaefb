SELECT message_id, hash, published_at, visible_at, expires_at FROM publish_keys WHERE project = ? AND queue = ? AND key = ?
