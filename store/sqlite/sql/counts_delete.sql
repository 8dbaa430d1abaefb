DELETE FROM counts WHERE queue = ?
