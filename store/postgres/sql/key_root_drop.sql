-- $1 project, $2 name, $3 hash: the root key of that name, and any of that hash, which would be a second row for one secret
DELETE FROM keys WHERE project = $1 AND name = $2 AND 'root' = ANY (scopes) OR hash = $3
