-- newest first, before an id
SELECT id, project, name, scopes, created_at, expires_at, revoked_at FROM keys WHERE project = ? AND id < ? ORDER BY id DESC LIMIT ?
