-- ?1 source, ?2 the last looked at, ?3 the redrive's start, ?4 limit
SELECT id FROM messages INDEXED BY messages_dead
WHERE source_queue = ?1 AND dead_at IS NOT NULL AND id > ?2 AND dead_at <= ?3 ORDER BY id LIMIT ?4
