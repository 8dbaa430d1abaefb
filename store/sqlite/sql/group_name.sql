SELECT name FROM groups WHERE id = ?
