INSERT INTO bodies (id, body, headers) VALUES (?, ?, ?)
