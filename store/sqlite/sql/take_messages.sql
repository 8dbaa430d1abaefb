-- The first of an endpoint's deliveries, which all have priority 0. "+" keeps the statement from being prepared anew for each value.
SELECT id, vis FROM messages WHERE gid = +? AND prio = 0 AND leased = 0 ORDER BY vis, id LIMIT ?
