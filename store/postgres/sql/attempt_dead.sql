-- The attempts of holders found dead: $1 claim_id, $2 fence, $3 attempt, $4 the first try since the last reopening, $5 started_at,
-- $6 finished_at, $7 outcome, $8 class, $9 error, $10 next_attempt_at
INSERT INTO attempts (delivery, claim_id, fence, attempt, cause, started_at, finished_at, outcome, class, error, next_attempt_at)
SELECT d.id, u.claim_id, fence, attempt, CASE WHEN first THEN d.cause ELSE 'retry' END, started_at, finished_at, outcome, class, error,
  nullif(next_attempt_at, '0001-01-01Z')
FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::bool[], $5::timestamptz[], $6::timestamptz[], $7::text[], $8::text[], $9::text[], $10::timestamptz[])
  u(claim_id, fence, attempt, first, started_at, finished_at, outcome, class, error, next_attempt_at)
JOIN deliveries d ON d.claim_id = u.claim_id
