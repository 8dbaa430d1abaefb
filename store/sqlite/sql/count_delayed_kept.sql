-- ?1 queue, ?2 the second now
SELECT coalesce(sum(n), 0) FROM delay_counts WHERE queue = ?1 AND due_s >= ?2
