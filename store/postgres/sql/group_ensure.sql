-- $1 project, $2 queue, $3 group: makes those that are missing. The group '' of a queue holds the turn of its ungrouped messages.
INSERT INTO groups (queue, name, slots, next_at)
SELECT DISTINCT q.id, x.name COLLATE "C", 2147483647, CASE WHEN x.name = '' THEN now() END
FROM unnest($1::bigint[], $2::text[], $3::text[]) AS u(project, queue, name)
JOIN queues q ON q.project = u.project AND q.name = u.queue COLLATE "C"
CROSS JOIN LATERAL (VALUES (u.name), ('')) AS x(name)
WHERE NOT EXISTS (SELECT 1 FROM group_names g WHERE g.queue = q.id AND g.name = x.name COLLATE "C")
ORDER BY 1, 2
ON CONFLICT DO NOTHING
