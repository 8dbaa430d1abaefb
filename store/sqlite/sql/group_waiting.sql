SELECT id FROM messages WHERE gid = ? AND leased = 0 LIMIT ?
