SELECT id, project, name, scopes, created_at, expires_at, revoked_at FROM keys WHERE id = ?
