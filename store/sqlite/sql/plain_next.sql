-- when the first ungrouped message of a queue is due: one seek per priority
SELECT min(vis) FROM (
  SELECT vis FROM (SELECT vis FROM messages INDEXED BY messages_plain
    WHERE queue = ?1 AND gid IS NULL AND prio = 9 AND (receives < max_receives OR dead_at IS NOT NULL) ORDER BY vis LIMIT 1) UNION ALL
  SELECT vis FROM (SELECT vis FROM messages INDEXED BY messages_plain
    WHERE queue = ?1 AND gid IS NULL AND prio = 8 AND (receives < max_receives OR dead_at IS NOT NULL) ORDER BY vis LIMIT 1) UNION ALL
  SELECT vis FROM (SELECT vis FROM messages INDEXED BY messages_plain
    WHERE queue = ?1 AND gid IS NULL AND prio = 7 AND (receives < max_receives OR dead_at IS NOT NULL) ORDER BY vis LIMIT 1) UNION ALL
  SELECT vis FROM (SELECT vis FROM messages INDEXED BY messages_plain
    WHERE queue = ?1 AND gid IS NULL AND prio = 6 AND (receives < max_receives OR dead_at IS NOT NULL) ORDER BY vis LIMIT 1) UNION ALL
  SELECT vis FROM (SELECT vis FROM messages INDEXED BY messages_plain
    WHERE queue = ?1 AND gid IS NULL AND prio = 5 AND (receives < max_receives OR dead_at IS NOT NULL) ORDER BY vis LIMIT 1) UNION ALL
  SELECT vis FROM (SELECT vis FROM messages INDEXED BY messages_plain
    WHERE queue = ?1 AND gid IS NULL AND prio = 4 AND (receives < max_receives OR dead_at IS NOT NULL) ORDER BY vis LIMIT 1) UNION ALL
  SELECT vis FROM (SELECT vis FROM messages INDEXED BY messages_plain
    WHERE queue = ?1 AND gid IS NULL AND prio = 3 AND (receives < max_receives OR dead_at IS NOT NULL) ORDER BY vis LIMIT 1) UNION ALL
  SELECT vis FROM (SELECT vis FROM messages INDEXED BY messages_plain
    WHERE queue = ?1 AND gid IS NULL AND prio = 2 AND (receives < max_receives OR dead_at IS NOT NULL) ORDER BY vis LIMIT 1) UNION ALL
  SELECT vis FROM (SELECT vis FROM messages INDEXED BY messages_plain
    WHERE queue = ?1 AND gid IS NULL AND prio = 1 AND (receives < max_receives OR dead_at IS NOT NULL) ORDER BY vis LIMIT 1) UNION ALL
  SELECT vis FROM (SELECT vis FROM messages INDEXED BY messages_plain
    WHERE queue = ?1 AND gid IS NULL AND prio = 0 AND (receives < max_receives OR dead_at IS NOT NULL) ORDER BY vis LIMIT 1)
)
