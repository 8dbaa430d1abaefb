SELECT id, endpoint FROM deliveries WHERE event = ? ORDER BY id
