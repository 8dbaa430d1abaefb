-- The parts of a redrive that go on, with how their canaries fare and how their endpoints are: $1 redrive, $2 limit. Of those that can move
-- some, those far behind first; those that wait for what comes of their canary in no order: those that wait long keep no other from being heard.
SELECT p.endpoint, p.state, coalesce(p.canary, 0), p.total, p.moved, p.left_behind, p.last_id, e.id IS NULL, coalesce(e.disabled, false), coalesce(c.state, ''),
  coalesce(c.tries, 0), d.cancelled_at IS NOT NULL
FROM (
  (SELECT *, 0 AS turn FROM redrive_parts WHERE redrive = $1 AND state = 'canary' ORDER BY random() LIMIT $2)
  UNION ALL
  (SELECT *, 1 FROM redrive_parts WHERE redrive = $1 AND state IN ('waiting', 'open') ORDER BY last_id, endpoint LIMIT $2)
) p LEFT JOIN endpoints e ON e.id = p.endpoint AND e.deleted_at IS NULL
LEFT JOIN deliveries d ON d.id = p.canary LEFT JOIN delivery_claims c ON c.id = d.claim_id
ORDER BY p.turn, p.last_id, p.endpoint
