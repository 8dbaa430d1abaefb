DELETE FROM delay_counts WHERE (queue, due_s) IN (
  SELECT d.queue, d.due_s FROM counts c CROSS JOIN delay_counts d ON d.queue = c.queue AND d.due_s < ?1 LIMIT ?2)
