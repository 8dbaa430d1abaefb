-- $1 project, $2 queue, $3 group: their ids
SELECT u.n, g.id
FROM unnest($1::bigint[], $2::text[], $3::text[]) WITH ORDINALITY AS u(project, queue, name, n)
JOIN queues q ON q.project = u.project AND q.name = u.queue COLLATE "C"
JOIN group_names g ON g.queue = q.id AND g.name = u.name COLLATE "C"
