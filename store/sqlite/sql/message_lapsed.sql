SELECT id FROM messages INDEXED BY messages_leased WHERE queue = ? AND leased = 1 AND vis <= ? ORDER BY vis LIMIT ?
