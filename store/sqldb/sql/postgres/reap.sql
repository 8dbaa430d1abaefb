-- Locks keys whose holder's lease is over, whose receiver no longer remembers them, or that are older than the ledger's memory: $1 limit,
-- $2 memory_s. What a person sent back waits as long again. What somebody else has locked is passed by.
SELECT {{columns}}
FROM onceward_claims WHERE id = ANY (ARRAY(
  SELECT id FROM (
    (SELECT id FROM onceward_claims WHERE state IN ('claimed', 'started') AND lease_until <= statement_timestamp() ORDER BY lease_until LIMIT $1::bigint)
    UNION ALL
    (SELECT id FROM onceward_claims WHERE state = 'retry' AND ambiguous AND window_s IS NOT NULL
       AND first_at <= statement_timestamp() - window_s * interval '1 s' ORDER BY first_at LIMIT $1::bigint)
    UNION ALL
    (SELECT id FROM onceward_claims WHERE state = 'retry' AND origin_at < statement_timestamp() - $2::float8 * interval '1 s'
     AND (tries > 0 OR next_at < statement_timestamp() - $2::float8 * interval '1 s') ORDER BY origin_at LIMIT $1::bigint)
  ) x LIMIT $1::bigint))
ORDER BY id FOR UPDATE SKIP LOCKED
