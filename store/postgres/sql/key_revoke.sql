-- $1 id
UPDATE keys SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1
RETURNING id, project, name, scopes, created_at, coalesce(expires_at, '0001-01-01Z'), coalesce(revoked_at, '0001-01-01Z'), now()
