-- when a fifo group's head is due
SELECT (SELECT vis FROM messages INDEXED BY messages_fifo WHERE gid = ?1 AND place IS NOT NULL ORDER BY place LIMIT 1)
