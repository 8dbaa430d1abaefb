-- What waits for an endpoint: $1 its id, $2 limit
SELECT id FROM messages WHERE gid = $1 AND NOT leased AND prio = 0 ORDER BY vis, id LIMIT $2
