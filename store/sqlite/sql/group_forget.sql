DELETE FROM groups WHERE id = ?
