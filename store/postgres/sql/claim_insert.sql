-- Keys that are asked for the first time: $1 project, $2 scope, $3 key, $4 hash, $5 work_hash, $6 policy, $7 max_tries, $8 window_s, $9 origin_at
-- (year 1: that of the message, or now), $10 the message that is to carry it, or 0. One that another transaction is making is waited for.
INSERT INTO worker_claims (kind, project, scope, key, hash, work_hash, policy, state, max_tries, window_s, origin_at)
SELECT 'w', project, scope, key, hash, work_hash, CASE policy WHEN 'once' THEN 'o' ELSE 'i' END::"char", 'new', max_tries, nullif(window_s, 0),
  coalesce(nullif(origin_at, '0001-01-01Z'), (SELECT m.origin_at FROM messages m WHERE m.id = u.message AND m.project = u.project), now())
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bytea[], $5::bytea[], $6::text[], $7::int[], $8::float8[], $9::timestamptz[],
            $10::bigint[])
  u(project, scope, key, hash, work_hash, policy, max_tries, window_s, origin_at, message)
ORDER BY hash
ON CONFLICT (hash, kind) DO NOTHING
