INSERT INTO attempts (id, delivery, claim_id, fence, attempt, cause, started_at, finished_at, outcome, class, status_code,
                      latency_ms, response_start, error, next_attempt_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
