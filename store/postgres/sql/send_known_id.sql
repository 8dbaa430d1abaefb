-- The same by the events' rows: $1 id
SELECT e.id, e.project, e.event_id, e.hash, e.created_at, d.id, d.endpoint
FROM events e LEFT JOIN deliveries d ON d.event = e.id
WHERE e.id = ANY ($1::bigint[])
ORDER BY e.id, d.id
