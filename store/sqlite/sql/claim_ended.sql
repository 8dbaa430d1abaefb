SELECT id, finished_at FROM claims INDEXED BY claims_finished
WHERE kind = 'd' AND finished_at IS NOT NULL AND (finished_at, id) > (?, ?) AND finished_at <= ? ORDER BY finished_at, id LIMIT ?
