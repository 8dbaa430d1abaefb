-- ?1 queue, ?2 now, ?3 limit. A lease over in its last try counts until it is dead-lettered.
SELECT count(*) FROM (SELECT 1 FROM messages INDEXED BY messages_leased
  WHERE queue = ?1 AND leased = 1 AND (vis > ?2 OR receives >= max_receives AND dead_at IS NULL) LIMIT ?3)
