SELECT id FROM groups WHERE queue = ? AND name = ?
