-- ?1 group, ?2 now, ?3 limit: as receive_plain.sql
SELECT id FROM (SELECT id FROM messages INDEXED BY messages_group
  WHERE gid = ?1 AND leased = 0 AND prio = 9 AND vis <= ?2 AND receives < max_receives ORDER BY vis, id LIMIT ?3) UNION ALL
SELECT id FROM (SELECT id FROM messages INDEXED BY messages_group
  WHERE gid = ?1 AND leased = 0 AND prio = 8 AND vis <= ?2 AND receives < max_receives ORDER BY vis, id LIMIT ?3) UNION ALL
SELECT id FROM (SELECT id FROM messages INDEXED BY messages_group
  WHERE gid = ?1 AND leased = 0 AND prio = 7 AND vis <= ?2 AND receives < max_receives ORDER BY vis, id LIMIT ?3) UNION ALL
SELECT id FROM (SELECT id FROM messages INDEXED BY messages_group
  WHERE gid = ?1 AND leased = 0 AND prio = 6 AND vis <= ?2 AND receives < max_receives ORDER BY vis, id LIMIT ?3) UNION ALL
SELECT id FROM (SELECT id FROM messages INDEXED BY messages_group
  WHERE gid = ?1 AND leased = 0 AND prio = 5 AND vis <= ?2 AND receives < max_receives ORDER BY vis, id LIMIT ?3) UNION ALL
SELECT id FROM (SELECT id FROM messages INDEXED BY messages_group
  WHERE gid = ?1 AND leased = 0 AND prio = 4 AND vis <= ?2 AND receives < max_receives ORDER BY vis, id LIMIT ?3) UNION ALL
SELECT id FROM (SELECT id FROM messages INDEXED BY messages_group
  WHERE gid = ?1 AND leased = 0 AND prio = 3 AND vis <= ?2 AND receives < max_receives ORDER BY vis, id LIMIT ?3) UNION ALL
SELECT id FROM (SELECT id FROM messages INDEXED BY messages_group
  WHERE gid = ?1 AND leased = 0 AND prio = 2 AND vis <= ?2 AND receives < max_receives ORDER BY vis, id LIMIT ?3) UNION ALL
SELECT id FROM (SELECT id FROM messages INDEXED BY messages_group
  WHERE gid = ?1 AND leased = 0 AND prio = 1 AND vis <= ?2 AND receives < max_receives ORDER BY vis, id LIMIT ?3) UNION ALL
SELECT id FROM (SELECT id FROM messages INDEXED BY messages_group
  WHERE gid = ?1 AND leased = 0 AND prio = 0 AND vis <= ?2 AND receives < max_receives ORDER BY vis, id LIMIT ?3)
LIMIT ?3
