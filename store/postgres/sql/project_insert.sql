-- $1 name, $2 credit limit
INSERT INTO projects (name, credit_limit) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING RETURNING id, name, created_at, credit_limit
