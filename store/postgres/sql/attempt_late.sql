-- A late success tells what became of an attempt whose outcome was unknown: $1 delivery, $2 claim_id, $3 fence, $4 finished_at, $5 status_code,
-- $6 latency_ms, $7 response_start
UPDATE attempts SET outcome = 'delivered', class = NULL, finished_at = $4, status_code = nullif($5, 0), latency_ms = nullif($6::float8, 0),
  response_start = $7, error = NULL, next_attempt_at = NULL
WHERE delivery = $1 AND claim_id = $2 AND fence = $3
