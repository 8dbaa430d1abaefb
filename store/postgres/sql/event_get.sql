-- $1 project, $2 event_id
SELECT id, project, event_id, type, coalesce(tenant, ''), coalesce(subject, ''), created_at, payload
FROM events WHERE project = $1 AND event_id = $2
