INSERT INTO keys (id, project, name, hash, scopes, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)
