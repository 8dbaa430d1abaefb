-- newest first, before an id
SELECT id, name, created_at, credit_limit FROM projects WHERE id < ? ORDER BY id DESC LIMIT ?
