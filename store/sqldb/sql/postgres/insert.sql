-- Keys that are asked for: $1 rows, $2 how long to wait for a key that another transaction is making ('': as the session has it).
INSERT INTO onceward_claims (project, scope, key, hash, work_hash, policy, state, max_tries, window_s, keep_s, origin_at, created_at)
SELECT project, scope, key, decode(hash, 'hex'), decode(work_hash, 'hex'), policy, 'new', max_tries, window_s, keep_s,
  coalesce('epoch'::timestamptz + origin_at * interval '1 microsecond', statement_timestamp()), statement_timestamp()
FROM jsonb_to_recordset($1::text::jsonb) AS u (project bigint, scope text, key text, hash text, work_hash text, policy text, max_tries int,
  window_s float8, keep_s float8, origin_at bigint)
WHERE (SELECT set_config('lock_timeout', coalesce(nullif($2::text, ''), current_setting('lock_timeout')), true)) IS NOT NULL
ORDER BY u.hash
ON CONFLICT (hash) DO NOTHING
