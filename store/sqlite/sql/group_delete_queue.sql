DELETE FROM groups WHERE id IN (SELECT id FROM groups WHERE queue = ? LIMIT ?)
