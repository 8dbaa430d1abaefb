-- what a person sent back waits as long again
SELECT id FROM claims INDEXED BY claims_origin WHERE kind = 'w' AND state = 'retry' AND origin_at < ?1 AND (tries > 0 OR next_at < ?1) ORDER BY origin_at LIMIT ?2
