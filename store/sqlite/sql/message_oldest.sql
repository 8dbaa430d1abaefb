SELECT published_at FROM messages INDEXED BY messages_queue WHERE queue = ? ORDER BY id LIMIT 1
