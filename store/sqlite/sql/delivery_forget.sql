DELETE FROM deliveries WHERE id = ?
