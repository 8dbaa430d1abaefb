-- Keys of workers in a state, newest first, without their results: $1 project, $2 state, $3 before this id, $4 limit
SELECT id, kind::text, project, coalesce(scope, ''), coalesce(key, ''), hash, work_hash, CASE policy WHEN 'o' THEN 'once' ELSE 'idempotent' END, state,
       fence, begun, attempt, tries, max_tries, ambiguous, coalesce(grant_id, ''), coalesce(owner, ''),
       coalesce(lease_until, '0001-01-01Z'), coalesce(next_at, '0001-01-01Z'), coalesce(finished_at, '0001-01-01Z'),
       coalesce(first_at, '0001-01-01Z'), coalesce(window_s, 0), coalesce(keep_s, 0), origin_at, created_at, coalesce(message_id, 0), lease_no, NULL::bytea,
       coalesce(last_error, '')
FROM worker_claims WHERE project = $1 AND state = $2 AND id < $3 ORDER BY id DESC LIMIT $4
