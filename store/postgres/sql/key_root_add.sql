-- $1 project, $2 name, $3 hash
INSERT INTO keys (project, name, hash, scopes) VALUES ($1, $2, $3, '{root}') ON CONFLICT (hash) DO NOTHING
