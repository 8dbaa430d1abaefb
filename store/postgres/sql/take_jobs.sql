-- What attempts need beside their claims: $1 claim ids
SELECT d.claim_id, d.id, d.cause, d.ladder, d.key_send, e.event_id, e.type, e.payload,
  p.id, p.project, coalesce(p.tenant, ''), p.url, p.event_types, p.description, p.headers, p.secrets, p.timeout_s, p.ladder, p.retry_4xx,
  CASE p.policy WHEN 'o' THEN 'once' ELSE 'idempotent' END, coalesce(p.window_s, 0), p.max_in_flight, coalesce(p.rate, 0), p.disabled,
  coalesce(p.reason, ''), p.created_at, p.updated_at
FROM deliveries d JOIN events e ON e.id = d.event JOIN endpoints p ON p.id = d.endpoint
WHERE d.claim_id = ANY ($1::bigint[])
