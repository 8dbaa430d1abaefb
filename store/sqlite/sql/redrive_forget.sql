DELETE FROM redrives WHERE id = ?
