-- $1 id, $2 limit (NULL: none)
UPDATE projects SET credit_limit = $2 WHERE id = $1 RETURNING id, name, created_at, credit_limit
