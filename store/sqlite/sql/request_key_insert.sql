INSERT INTO request_keys (project, scope, key, hash, answer, event, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)
