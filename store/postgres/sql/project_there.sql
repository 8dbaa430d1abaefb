-- $1 id
SELECT EXISTS (SELECT 1 FROM projects WHERE id = $1)
