-- deliveries all have priority 0; "+" as in take_messages.sql
SELECT vis FROM messages WHERE gid = +? AND prio = 0 AND leased = 0 ORDER BY vis LIMIT 1
