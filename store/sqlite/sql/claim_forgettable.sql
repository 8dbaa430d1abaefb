SELECT id FROM claims INDEXED BY claims_finished WHERE kind = 'w' AND finished_at IS NOT NULL AND keep_s IS NULL AND finished_at <= ? ORDER BY finished_at LIMIT ?
