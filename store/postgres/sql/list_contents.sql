-- $1 message ids: what a list shows beside their rows
SELECT u.n, coalesce((SELECT q.name FROM queues q WHERE q.id = m.queue), ''), coalesce((SELECT q.name FROM queues q WHERE q.id = m.source_queue), ''),
       coalesce((SELECT g.name FROM group_names g WHERE g.id = coalesce(m.gid, m.source_gid)), (SELECT w.name FROM wakes w WHERE w.message = m.id AND m.gid = -1), ''), b.body, coalesce(b.headers::text, '')
FROM unnest($1::bigint[]) WITH ORDINALITY AS u(id, n) JOIN messages m ON m.id = ANY (ARRAY[u.id]) LEFT JOIN bodies b ON b.id = ANY (ARRAY[m.id])
