-- $1 project, $2 name: the queues that receipts name, and their dead-letter queues
SELECT u.n, q.id, q.require_receipt, coalesce(d.id, 0), coalesce(d.retention_s, 0)
FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS u(project, name, n)
JOIN queues q ON q.project = u.project AND q.name = u.name COLLATE "C"
LEFT JOIN queues d ON d.id = q.dlq
