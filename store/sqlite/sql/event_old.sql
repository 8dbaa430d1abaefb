-- ids grow with time, so the old ones come first
SELECT id, EXISTS (SELECT 1 FROM deliveries d WHERE d.event = e.id)
FROM (SELECT id, created_at FROM events WHERE id > ? ORDER BY id LIMIT ?) e WHERE created_at <= ? ORDER BY id
