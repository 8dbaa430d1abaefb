-- $1 id
SELECT id, project, name, scopes, created_at, coalesce(expires_at, '0001-01-01Z'), coalesce(revoked_at, '0001-01-01Z'), now() FROM keys WHERE id = $1
