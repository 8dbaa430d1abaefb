-- Keys whose holder's lease is over, whose receiver no longer remembers them, or that are older than the ledger's memory: $1 limit, $2 memory_s.
-- What somebody else has locked is passed by.
SELECT id, kind::text, project, coalesce(scope, ''), coalesce(key, ''), hash, work_hash, CASE policy WHEN 'o' THEN 'once' ELSE 'idempotent' END, state,
       fence, begun, attempt, tries, max_tries, ambiguous, coalesce(grant_id, ''), coalesce(owner, ''),
       coalesce(lease_until, '0001-01-01Z'), coalesce(next_at, '0001-01-01Z'), coalesce(finished_at, '0001-01-01Z'),
       coalesce(first_at, '0001-01-01Z'), coalesce(window_s, 0), coalesce(keep_s, 0), origin_at, created_at, coalesce(message_id, 0), lease_no, result,
       coalesce(last_error, '')
FROM worker_claims WHERE id = ANY (ARRAY(
  SELECT id FROM (
    (SELECT id FROM worker_claims WHERE state IN ('claimed', 'started') AND lease_until <= now() ORDER BY lease_until LIMIT $1)
    UNION ALL
    (SELECT id FROM worker_claims WHERE state = 'retry' AND ambiguous AND window_s IS NOT NULL AND first_at <= now() - window_s * interval '1 s'
     ORDER BY first_at LIMIT $1)
    UNION ALL
    (SELECT id FROM worker_claims WHERE state = 'retry' AND origin_at < now() - $2::float8 * interval '1 s'
     AND (tries > 0 OR next_at < now() - $2::float8 * interval '1 s') ORDER BY origin_at LIMIT $1)
  ) x LIMIT $1))
ORDER BY id FOR UPDATE SKIP LOCKED
