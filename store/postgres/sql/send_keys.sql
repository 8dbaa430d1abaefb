-- Request keys, each taken if it is free or past its window: $1 project, $2 scope, $3 key, $4 hash, $5 window_s. Whoever holds one
-- in an open transaction is waited for; those that are taken are not in the answer.
INSERT INTO request_keys AS k (project, scope, key, hash, expires_at)
SELECT u.project, u.scope, u.key, u.hash, now() + $5 * interval '1 s'
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bytea[]) u(project, scope, key, hash)
ORDER BY u.project, u.scope COLLATE "C", u.key COLLATE "C"
ON CONFLICT (project, scope, key) DO UPDATE
  SET hash = EXCLUDED.hash, answer = NULL, event = NULL, expires_at = EXCLUDED.expires_at WHERE k.expires_at <= now()
RETURNING k.project, k.scope, k.key
