DELETE FROM request_keys WHERE (project, scope, key) IN (
  SELECT project, scope, key FROM request_keys INDEXED BY request_keys_expiry WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)
