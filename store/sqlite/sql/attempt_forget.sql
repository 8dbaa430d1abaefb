DELETE FROM attempts WHERE delivery = ?
