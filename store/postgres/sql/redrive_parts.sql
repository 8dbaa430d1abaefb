-- The parts of a redrive, with how their canaries fare and whether their endpoints are there: $1 redrive, $2 limit
SELECT p.endpoint, p.state, coalesce(p.canary, 0), p.last_id, e.id IS NOT NULL, coalesce(c.state, ''), coalesce(c.tries, 0), d.cancelled_at IS NOT NULL
FROM redrive_parts p LEFT JOIN endpoints e ON e.id = p.endpoint AND e.deleted_at IS NULL
LEFT JOIN deliveries d ON d.id = p.canary LEFT JOIN delivery_claims c ON c.id = d.claim_id
WHERE p.redrive = $1 ORDER BY p.last_id, p.endpoint LIMIT $2
