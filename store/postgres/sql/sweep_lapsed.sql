-- $1 limit, $2 after this end of a lease, $3 and this id: grouped messages whose lease ran out, with receives left, and when: those of lapse.sql, to be tried apart where
-- it fails
SELECT vis, id FROM messages
WHERE leased AND dead_at IS NULL AND (gid IS NOT NULL OR receives >= max_receives) AND vis <= now() AND gid IS NOT NULL AND receives < max_receives AND vis >= $2 AND (vis, id) > ($2, $3)
ORDER BY vis, id LIMIT $1
