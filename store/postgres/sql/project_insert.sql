-- $1 name
INSERT INTO projects (name) VALUES ($1) ON CONFLICT (name) DO NOTHING RETURNING id, name, created_at
