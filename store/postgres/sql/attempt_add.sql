-- $1 delivery, $2 claim_id, $3 fence, $4 attempt, $5 cause, $6 started_at, $7 finished_at, $8 outcome, $9 class, $10 status_code, $11 latency_ms,
-- $12 response_start, $13 error, $14 next_attempt_at
INSERT INTO attempts (delivery, claim_id, fence, attempt, cause, started_at, finished_at, outcome, class, status_code, latency_ms, response_start,
  error, next_attempt_at)
SELECT delivery, claim_id, fence, attempt, cause, started_at, finished_at, outcome, nullif(class, ''), nullif(status_code, 0),
  nullif(latency_ms, 0), response_start, nullif(error, ''), nullif(next_attempt_at, '0001-01-01Z')
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::int[], $5::text[], $6::timestamptz[], $7::timestamptz[], $8::text[], $9::text[],
  $10::int[], $11::float8[], $12::bytea[], $13::text[], $14::timestamptz[])
  u(delivery, claim_id, fence, attempt, cause, started_at, finished_at, outcome, class, status_code, latency_ms, response_start, error,
    next_attempt_at)
