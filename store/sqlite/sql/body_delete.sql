DELETE FROM bodies WHERE id = ?
