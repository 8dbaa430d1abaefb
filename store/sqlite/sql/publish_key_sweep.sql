DELETE FROM publish_keys WHERE (project, queue, key) IN (
  SELECT project, queue, key FROM publish_keys INDEXED BY publish_keys_expiry WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)
