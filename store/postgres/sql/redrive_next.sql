-- $1 source queue, $2 after this id, $3 the redrive's start, $4 the last to look at, $5 limit; whether each was dead at the start
SELECT id, dead_at <= $3 FROM messages WHERE source_queue = $1 AND dead_at IS NOT NULL AND id > $2 AND id <= $4 ORDER BY id LIMIT $5
