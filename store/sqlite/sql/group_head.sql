-- deliveries all have priority 0
SELECT vis FROM messages WHERE gid = ? AND prio = 0 AND leased = 0 ORDER BY vis LIMIT 1
