-- Keys whose request was refused are free: $1 project, $2 scope, $3 key
DELETE FROM request_keys k USING unnest($1::bigint[], $2::text[], $3::text[]) u(project, scope, key)
WHERE k.project = u.project AND k.scope = u.scope AND k.key = u.key
