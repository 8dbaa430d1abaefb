-- An endpoint's next dead letters and what a redrive's filter looks at: $1 endpoint, $2 after this one, $3 the redrive's start, $4 the last to look
-- at, $5 how many. No state: it died since; no delivery: it is of a former send.
SELECT m.id, m.claim_id, coalesce(d.id, 0), CASE WHEN m.dead_at <= $3 THEN coalesce(c.state, '') ELSE '' END, coalesce(d.created_at, '0001-01-01Z'), coalesce(e.tenant, '')
FROM (SELECT id, claim_id, dead_at FROM messages WHERE source_gid = $1 AND dead_at IS NOT NULL AND id > $2 AND id <= $4 ORDER BY id LIMIT $5) m
LEFT JOIN deliveries d ON d.claim_id = m.claim_id LEFT JOIN delivery_claims c ON c.id = m.claim_id LEFT JOIN events e ON e.id = d.event
ORDER BY m.id
