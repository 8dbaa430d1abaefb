-- $1 claim ids of deliveries. Locks them by id, and reads them.
SELECT id, kind::text, project, coalesce(scope, ''), coalesce(key, ''), hash, work_hash, CASE policy WHEN 'o' THEN 'once' ELSE 'idempotent' END, state,
       fence, begun, attempt, tries, max_tries, ambiguous, coalesce(grant_id, ''), coalesce(owner, ''),
       coalesce(lease_until, '0001-01-01Z'), coalesce(next_at, '0001-01-01Z'), coalesce(finished_at, '0001-01-01Z'),
       coalesce(first_at, '0001-01-01Z'), coalesce(window_s, 0), coalesce(keep_s, 0), origin_at, created_at, coalesce(message_id, 0), lease_no, result,
       coalesce(last_error, '')
FROM delivery_claims WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE
