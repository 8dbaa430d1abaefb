-- $1 source queue, $2 after this id, $3 dead by then, $4 limit
SELECT id FROM messages WHERE source_queue = $1 AND dead_at IS NOT NULL AND id > $2 AND dead_at <= $3 ORDER BY id LIMIT $4
