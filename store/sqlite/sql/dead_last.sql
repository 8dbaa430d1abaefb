SELECT coalesce(max(id), 0) FROM messages INDEXED BY messages_dead WHERE source_queue = ? AND dead_at IS NOT NULL
