-- $1 project, $2 before this id (0: from the newest), $3 limit. Newest first.
SELECT id, project, name, scopes, created_at, coalesce(expires_at, '0001-01-01Z'), coalesce(revoked_at, '0001-01-01Z'), now() FROM keys
WHERE project = $1 AND ($2 = 0 OR id < $2) ORDER BY id DESC LIMIT $3
