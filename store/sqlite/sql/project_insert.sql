INSERT INTO projects (id, name, created_at, credit_limit) VALUES (?, ?, ?, ?)
