SELECT id FROM attempts WHERE delivery = ? AND attempt = ?
