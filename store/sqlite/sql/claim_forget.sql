DELETE FROM claims WHERE id = ?
