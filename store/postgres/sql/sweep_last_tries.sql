-- $1 limit, $2 after this end of a lease, $3 and this id: messages whose last lease ran out, and when
SELECT vis, id FROM messages
WHERE leased AND dead_at IS NULL AND (gid IS NOT NULL OR receives >= max_receives) AND vis <= now() AND receives >= max_receives AND vis >= $2 AND (vis, id) > ($2, $3)
ORDER BY vis, id LIMIT $1
