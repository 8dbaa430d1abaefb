-- $1 source queue, $2 at most so many, the oldest; 0: no limit. Its dead letters by how their claims are, and the youngest of them
SELECT coalesce(c.state, ''), CASE c.policy WHEN 'o' THEN 'once' ELSE 'idempotent' END, count(*), max(m.id)
FROM (SELECT id, claim_id FROM messages WHERE source_queue = $1 AND dead_at IS NOT NULL ORDER BY id LIMIT nullif($2::bigint, 0)) m
LEFT JOIN claims c ON c.id = m.claim_id GROUP BY 1, 2
