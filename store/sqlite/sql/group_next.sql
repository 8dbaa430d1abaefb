-- when the first of a group's waiting messages is due: one seek per priority
SELECT min(vis) FROM (
  SELECT min(vis) AS vis FROM messages INDEXED BY messages_group WHERE gid = ?1 AND leased = 0 AND prio = 9 UNION ALL
  SELECT min(vis) AS vis FROM messages INDEXED BY messages_group WHERE gid = ?1 AND leased = 0 AND prio = 8 UNION ALL
  SELECT min(vis) AS vis FROM messages INDEXED BY messages_group WHERE gid = ?1 AND leased = 0 AND prio = 7 UNION ALL
  SELECT min(vis) AS vis FROM messages INDEXED BY messages_group WHERE gid = ?1 AND leased = 0 AND prio = 6 UNION ALL
  SELECT min(vis) AS vis FROM messages INDEXED BY messages_group WHERE gid = ?1 AND leased = 0 AND prio = 5 UNION ALL
  SELECT min(vis) AS vis FROM messages INDEXED BY messages_group WHERE gid = ?1 AND leased = 0 AND prio = 4 UNION ALL
  SELECT min(vis) AS vis FROM messages INDEXED BY messages_group WHERE gid = ?1 AND leased = 0 AND prio = 3 UNION ALL
  SELECT min(vis) AS vis FROM messages INDEXED BY messages_group WHERE gid = ?1 AND leased = 0 AND prio = 2 UNION ALL
  SELECT min(vis) AS vis FROM messages INDEXED BY messages_group WHERE gid = ?1 AND leased = 0 AND prio = 1 UNION ALL
  SELECT min(vis) AS vis FROM messages INDEXED BY messages_group WHERE gid = ?1 AND leased = 0 AND prio = 0
)
