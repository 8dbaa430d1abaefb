-- $1 before this id (0: from the newest), $2 limit. Newest first.
SELECT id, name, created_at, credit_limit FROM projects WHERE ($1 = 0 OR id < $1) ORDER BY id DESC LIMIT $2
