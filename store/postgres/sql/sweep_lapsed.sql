-- $1 limit: grouped messages whose lease ran out, with receives left: those of lapse.sql, to be tried apart where it fails
SELECT id FROM messages
WHERE leased AND dead_at IS NULL AND (gid IS NOT NULL OR receives >= max_receives) AND vis <= now() AND gid IS NOT NULL AND receives < max_receives
ORDER BY vis LIMIT $1
