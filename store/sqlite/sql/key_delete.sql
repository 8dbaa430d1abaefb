DELETE FROM keys WHERE project = ? AND name = ? OR hash = ?
