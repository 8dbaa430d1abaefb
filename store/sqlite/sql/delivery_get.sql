SELECT d.id, d.project, d.event, d.endpoint, d.key_send, d.attempt_base, d.created_at, d.cancelled_at,
       c.state, c.attempt, c.policy, c.created_at, c.next_at, c.finished_at, c.last_error, e.event_id, e.type, e.tenant, e.subject
FROM deliveries d JOIN claims c ON c.id = d.claim_id JOIN events e ON e.id = d.event
WHERE d.id = ? AND d.project = ?
