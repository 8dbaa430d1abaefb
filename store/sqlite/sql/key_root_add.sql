INSERT INTO keys (id, project, name, hash, scopes, created_at) VALUES (?, ?, ?, ?, '["root"]', ?) ON CONFLICT (hash) DO NOTHING
