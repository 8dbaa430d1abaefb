-- $1 project, $2 queue, $3 group: makes those that are missing. The group '' of a standard queue holds the turn of its ungrouped messages; a fifo
-- queue's groups have one slot each.
INSERT INTO groups (queue, name, slots, next_at, place)
SELECT DISTINCT q.id, x.name COLLATE "C", CASE WHEN q.fifo THEN 1 ELSE 2147483647 END, CASE WHEN x.name = '' THEN now() END, CASE WHEN q.fifo THEN 0 END
FROM unnest($1::bigint[], $2::text[], $3::text[]) AS u(project, queue, name)
JOIN queues q ON q.project = u.project AND q.name = u.queue COLLATE "C"
CROSS JOIN LATERAL (VALUES (u.name), ('')) AS x(name)
WHERE (x.name <> '' OR NOT q.fifo) AND NOT EXISTS (SELECT 1 FROM group_names g WHERE g.queue = q.id AND g.name = x.name COLLATE "C")
ORDER BY 1, 2
ON CONFLICT DO NOTHING
