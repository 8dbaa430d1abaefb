-- An endpoint's next dead letters, and whether the redrive concerns them: $1 endpoint, $2 after this one, $3 the redrive's start, $4 how many to look
-- at, $5 tenant or '', $6 states (none: all), $7 from, $8 to,
-- $9 the last that a max lets it concern, 0: no limit
SELECT m.id, m.claim_id, coalesce(d.id, 0),
  coalesce(m.dead_at <= $3::timestamptz AND d.id IS NOT NULL AND ($5 = '' OR e.tenant = $5) AND (cardinality($6::text[]) = 0 OR c.state = ANY ($6))
    AND ($7::timestamptz = '0001-01-01Z' OR d.created_at >= $7) AND ($8::timestamptz = '0001-01-01Z' OR d.created_at < $8), false)
FROM (SELECT id, claim_id, dead_at FROM messages WHERE source_gid = $1 AND dead_at IS NOT NULL AND id > $2 AND ($9::bigint = 0 OR id <= $9) ORDER BY id LIMIT $4) m
LEFT JOIN deliveries d ON d.claim_id = m.claim_id LEFT JOIN delivery_claims c ON c.id = m.claim_id LEFT JOIN events e ON e.id = d.event
ORDER BY m.id
