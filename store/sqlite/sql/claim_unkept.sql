SELECT id FROM claims INDEXED BY claims_keep WHERE kind = 'w' AND keep_s IS NOT NULL AND finished_at IS NOT NULL AND finished_at + keep_s * 1e6 <= ? ORDER BY finished_at + keep_s * 1e6 LIMIT ?
