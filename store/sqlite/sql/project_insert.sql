INSERT INTO projects (id, name, created_at) VALUES (?, ?, ?)
