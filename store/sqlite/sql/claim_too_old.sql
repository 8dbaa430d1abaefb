SELECT id FROM claims INDEXED BY claims_origin WHERE kind = 'w' AND state = 'retry' AND origin_at < ? ORDER BY origin_at LIMIT ?
