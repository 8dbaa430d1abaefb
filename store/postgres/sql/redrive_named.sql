-- $1 ids, $2 source queue, $3 its dead-letter queue: of the named ones those that are there, whether each came from the source, and how its claim is
SELECT m.id, m.dead_at IS NOT NULL, coalesce(c.state, ''), CASE c.policy WHEN 'o' THEN 'once' ELSE 'idempotent' END FROM messages m LEFT JOIN claims c ON c.id = m.claim_id
WHERE m.id = ANY ($1::bigint[]) AND (m.dead_at IS NOT NULL AND m.source_queue = $2 OR m.dead_at IS NULL AND m.queue = $3) ORDER BY m.id
