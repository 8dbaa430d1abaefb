-- The dead letters of deliveries that a redrive concerns, by endpoint and by how their claims are, with the youngest of them, and how the
-- endpoints are: $1 project, $2 endpoint or 0, $3 tenant or '', $4 states (none: all), $5 from and $6 to, of the delivery's creation, year 1 for
-- all, $7 at most so many in all, the oldest; 0: no limit
SELECT x.endpoint, e.id IS NULL, coalesce(e.disabled, false), x.state, x.policy, count(*), max(x.id) FROM (
  SELECT d.endpoint, m.id, c.state, CASE c.policy WHEN 'o' THEN 'once' ELSE 'idempotent' END AS policy
  FROM messages m JOIN deliveries d ON d.claim_id = m.claim_id JOIN delivery_claims c ON c.id = m.claim_id JOIN events e ON e.id = d.event
  WHERE m.source_queue = 1 AND m.dead_at IS NOT NULL AND m.project = $1 AND ($2 = 0 OR m.source_gid = $2) AND ($3 = '' OR e.tenant = $3)
    AND (cardinality($4::text[]) = 0 OR c.state = ANY ($4)) AND ($5::timestamptz = '0001-01-01Z' OR d.created_at >= $5) AND ($6::timestamptz = '0001-01-01Z' OR d.created_at < $6)
  ORDER BY m.id LIMIT nullif($7::bigint, 0)
) x LEFT JOIN endpoints e ON e.id = x.endpoint AND e.deleted_at IS NULL
GROUP BY 1, 2, 3, 4, 5 ORDER BY 1
