-- ?1 group, ?2 now, ?3 limit: its head, if that is due
SELECT id FROM (SELECT id, leased, vis, receives, max_receives FROM messages INDEXED BY messages_fifo WHERE gid = ?1 AND place IS NOT NULL ORDER BY place LIMIT 1)
WHERE leased = 0 AND vis <= ?2 AND receives < max_receives LIMIT ?3
