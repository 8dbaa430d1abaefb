INSERT INTO redrive_parts (redrive, endpoint, state, n) VALUES (?, ?, ?, ?)
