INSERT INTO request_keys (project, scope, key, hash, event, expires_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET hash = excluded.hash, answer = NULL, event = excluded.event, expires_at = excluded.expires_at
