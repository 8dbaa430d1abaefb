SELECT id FROM messages WHERE queue = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?
