SELECT id, name, created_at, credit_limit FROM projects WHERE id = ?
