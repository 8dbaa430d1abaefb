-- ?1 source, ?2 the last looked at, ?3 the redrive's start, ?4 the last to look at, ?5 limit
SELECT id, dead_at <= ?3 FROM messages INDEXED BY messages_dead
WHERE source_queue = ?1 AND dead_at IS NOT NULL AND id > ?2 AND id <= ?4 ORDER BY id LIMIT ?5
