INSERT INTO redrive_parts (redrive, endpoint, state, total) VALUES (?, ?, ?, ?)
