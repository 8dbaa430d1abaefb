-- $1 project, $2 queue: marks those that have no group yet as having had one.
WITH l AS MATERIALIZED (
  SELECT q.id FROM queues q
  WHERE (q.project, q.name) IN (SELECT project, name FROM unnest($1::bigint[], $2::text[]) AS u(project, name)) AND NOT q.grouped
  ORDER BY q.id FOR NO KEY UPDATE
)
UPDATE queues q SET grouped = true FROM l WHERE q.id = l.id
