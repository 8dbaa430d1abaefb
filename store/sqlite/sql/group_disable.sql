UPDATE groups SET disabled = 1 WHERE id = ?
