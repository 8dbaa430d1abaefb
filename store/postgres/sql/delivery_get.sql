-- $1 project, $2 id
SELECT d.id, d.project, d.event, d.endpoint, d.claim_id, d.sends, d.key_send, d.cause, d.attempt_base, d.created_at, d.cancelled_at IS NOT NULL,
  e.event_id, e.type, coalesce(e.tenant, ''), coalesce(e.subject, ''),
  CASE c.policy WHEN 'o' THEN 'once' ELSE 'idempotent' END, c.state, c.attempt, coalesce(c.next_at, '0001-01-01Z'), coalesce(c.finished_at, '0001-01-01Z'), coalesce(c.last_error, ''), c.created_at
FROM deliveries d JOIN events e ON e.id = d.event JOIN delivery_claims c ON c.id = d.claim_id
WHERE d.id = $2 AND d.project = $1
