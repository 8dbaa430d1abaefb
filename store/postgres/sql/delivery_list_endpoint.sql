-- delivery_list.sql of one endpoint: $10
SELECT d.id, d.project, d.event, d.endpoint, d.claim_id, d.sends, d.key_send, d.cause, d.attempt_base, d.created_at, d.cancelled_at IS NOT NULL,
  e.event_id, e.type, coalesce(e.tenant, ''), coalesce(e.subject, ''),
  CASE c.policy WHEN 'o' THEN 'once' ELSE 'idempotent' END, c.state, c.attempt, coalesce(c.next_at, '0001-01-01Z'), coalesce(c.finished_at, '0001-01-01Z'), coalesce(c.last_error, ''), c.created_at,
  coalesce(d.project = $3 AND ($4 = '' OR e.tenant = $4) AND ($5 = '' OR e.type = $5) AND ($6 = '' OR e.event_id = $6)
  AND ($7 = '' OR e.subject = $7) AND ($8::timestamptz = '0001-01-01Z' OR d.created_at >= $8) AND ($9::timestamptz = '0001-01-01Z' OR d.created_at < $9), false)
FROM (SELECT * FROM deliveries WHERE endpoint = $10 AND id < $1 ORDER BY id DESC LIMIT $2) d
JOIN events e ON e.id = d.event JOIN delivery_claims c ON c.id = d.claim_id
ORDER BY d.id DESC
