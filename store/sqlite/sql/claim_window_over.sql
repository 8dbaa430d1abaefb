SELECT id FROM claims INDEXED BY claims_window
WHERE kind = 'w' AND state = 'retry' AND ambiguous = 1 AND window_s IS NOT NULL AND policy = 'i'
  AND first_at <= ?1 AND first_at + window_s * 1e6 <= ?1 ORDER BY first_at LIMIT ?2
