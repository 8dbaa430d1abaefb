-- ?1 queue, ?2 now, ?3 limit
SELECT count(*) FROM (SELECT 1 FROM messages INDEXED BY messages_delayed
  WHERE queue = ?1 AND leased = 0 AND vis > published_at AND vis > ?2 LIMIT ?3)
