SELECT id, attempt, cause, started_at, finished_at, outcome, class, status_code, latency_ms, response_start, error, next_attempt_at
FROM attempts WHERE delivery = ? ORDER BY id
