-- $1 project, $2 scope, $3 key
SELECT k.project, k.scope, k.key, k.hash, coalesce(k.event, 0) FROM request_keys k
JOIN unnest($1::bigint[], $2::text[], $3::text[]) u(project, scope, key) USING (project, scope, key)
