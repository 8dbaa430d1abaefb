UPDATE attempts SET started_at = ?, finished_at = ?, outcome = ?, class = ?, status_code = ?, latency_ms = ?, response_start = ?, error = ?,
       next_attempt_at = ?
WHERE id = ?
