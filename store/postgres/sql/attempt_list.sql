-- $1 deliveries
SELECT delivery, id, attempt, cause, started_at, finished_at, outcome, coalesce(class, ''), coalesce(status_code, 0), coalesce(latency_ms, 0),
  response_start, coalesce(error, ''), coalesce(next_attempt_at, '0001-01-01Z')
FROM attempts WHERE delivery = ANY ($1::bigint[]) ORDER BY delivery, attempt, id
