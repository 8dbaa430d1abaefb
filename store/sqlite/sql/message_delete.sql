DELETE FROM messages WHERE id = ?
