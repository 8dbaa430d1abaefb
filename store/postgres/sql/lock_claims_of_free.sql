-- $1 message ids. lock_claims_of.sql without those that somebody else has locked.
SELECT id, kind::text, project, coalesce(scope, ''), coalesce(key, ''), hash, work_hash, CASE policy WHEN 'o' THEN 'once' ELSE 'idempotent' END, state,
       fence, begun, attempt, tries, max_tries, ambiguous, coalesce(grant_id, ''), coalesce(owner, ''),
       coalesce(lease_until, '0001-01-01Z'), coalesce(next_at, '0001-01-01Z'), coalesce(finished_at, '0001-01-01Z'),
       coalesce(first_at, '0001-01-01Z'), coalesce(window_s, 0), coalesce(keep_s, 0), origin_at, created_at, coalesce(message_id, 0), lease_no, result,
       coalesce(last_error, '')
FROM claims WHERE id = ANY (ARRAY(SELECT claim_id FROM messages WHERE id = ANY ($1::bigint[]) AND claim_id IS NOT NULL)) ORDER BY id FOR UPDATE SKIP LOCKED
