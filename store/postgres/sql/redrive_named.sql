-- $1 ids, $2 source queue, $3 its dead-letter queue: of the named ones those that are there, and whether each came from the source
SELECT id, dead_at IS NOT NULL FROM messages
WHERE id = ANY ($1::bigint[]) AND (dead_at IS NOT NULL AND source_queue = $2 OR dead_at IS NULL AND queue = $3) ORDER BY id
