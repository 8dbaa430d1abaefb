-- ?1 queue, ?2 now, ?3 limit. One range per priority, so that what is not due yet, however much, is never walked; the parts
-- run in their order and stop when the limit is reached. A last try whose lease is over waits for its dead-lettering.
SELECT id FROM (SELECT id FROM messages INDEXED BY messages_plain
  WHERE queue = ?1 AND gid IS NULL AND prio = 9 AND vis <= ?2 AND (receives < max_receives OR dead_at IS NOT NULL) ORDER BY vis, id LIMIT ?3) UNION ALL
SELECT id FROM (SELECT id FROM messages INDEXED BY messages_plain
  WHERE queue = ?1 AND gid IS NULL AND prio = 8 AND vis <= ?2 AND (receives < max_receives OR dead_at IS NOT NULL) ORDER BY vis, id LIMIT ?3) UNION ALL
SELECT id FROM (SELECT id FROM messages INDEXED BY messages_plain
  WHERE queue = ?1 AND gid IS NULL AND prio = 7 AND vis <= ?2 AND (receives < max_receives OR dead_at IS NOT NULL) ORDER BY vis, id LIMIT ?3) UNION ALL
SELECT id FROM (SELECT id FROM messages INDEXED BY messages_plain
  WHERE queue = ?1 AND gid IS NULL AND prio = 6 AND vis <= ?2 AND (receives < max_receives OR dead_at IS NOT NULL) ORDER BY vis, id LIMIT ?3) UNION ALL
SELECT id FROM (SELECT id FROM messages INDEXED BY messages_plain
  WHERE queue = ?1 AND gid IS NULL AND prio = 5 AND vis <= ?2 AND (receives < max_receives OR dead_at IS NOT NULL) ORDER BY vis, id LIMIT ?3) UNION ALL
SELECT id FROM (SELECT id FROM messages INDEXED BY messages_plain
  WHERE queue = ?1 AND gid IS NULL AND prio = 4 AND vis <= ?2 AND (receives < max_receives OR dead_at IS NOT NULL) ORDER BY vis, id LIMIT ?3) UNION ALL
SELECT id FROM (SELECT id FROM messages INDEXED BY messages_plain
  WHERE queue = ?1 AND gid IS NULL AND prio = 3 AND vis <= ?2 AND (receives < max_receives OR dead_at IS NOT NULL) ORDER BY vis, id LIMIT ?3) UNION ALL
SELECT id FROM (SELECT id FROM messages INDEXED BY messages_plain
  WHERE queue = ?1 AND gid IS NULL AND prio = 2 AND vis <= ?2 AND (receives < max_receives OR dead_at IS NOT NULL) ORDER BY vis, id LIMIT ?3) UNION ALL
SELECT id FROM (SELECT id FROM messages INDEXED BY messages_plain
  WHERE queue = ?1 AND gid IS NULL AND prio = 1 AND vis <= ?2 AND (receives < max_receives OR dead_at IS NOT NULL) ORDER BY vis, id LIMIT ?3) UNION ALL
SELECT id FROM (SELECT id FROM messages INDEXED BY messages_plain
  WHERE queue = ?1 AND gid IS NULL AND prio = 0 AND vis <= ?2 AND (receives < max_receives OR dead_at IS NOT NULL) ORDER BY vis, id LIMIT ?3)
LIMIT ?3
