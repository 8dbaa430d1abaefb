-- Events that were there before, with the deliveries that their first call made: $1 project, $2 event_id
SELECT e.id, e.project, e.event_id, e.hash, e.created_at, d.id, d.endpoint
FROM events e JOIN unnest($1::bigint[], $2::text[]) u(project, event_id) USING (project, event_id)
LEFT JOIN deliveries d ON d.event = e.id
ORDER BY e.id, d.id
