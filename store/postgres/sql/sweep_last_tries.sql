-- $1 limit: messages whose last lease ran out
SELECT id FROM messages
WHERE leased AND dead_at IS NULL AND (gid IS NOT NULL OR receives >= max_receives) AND vis <= now() AND receives >= max_receives
ORDER BY vis LIMIT $1
