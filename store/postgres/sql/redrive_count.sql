-- $1 source queue, $2 its dead-letter queue: the dead letters that came from it, and what was published straight into there
SELECT (SELECT count(*) FROM messages WHERE source_queue = $1 AND dead_at IS NOT NULL),
       (SELECT count(*) FROM messages WHERE queue = $2 AND dead_at IS NULL)
