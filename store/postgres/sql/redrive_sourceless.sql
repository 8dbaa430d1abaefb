-- $1 a dead-letter queue: what was published straight into it
SELECT count(*) FROM messages WHERE queue = $1 AND queue > 0 AND dead_at IS NULL
