-- $1 project, $2 names: locks queues, by id
SELECT id FROM queues WHERE project = $1 AND name = ANY ($2::text[]) ORDER BY id FOR UPDATE
