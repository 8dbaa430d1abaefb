-- an endpoint's group goes with its endpoint
SELECT id FROM groups g NOT INDEXED
WHERE id > ?1 AND id <= ?2 AND queue > 2 AND in_flight = 0
  AND NOT EXISTS (SELECT 1 FROM messages INDEXED BY messages_group WHERE gid = g.id AND leased = 0)
  AND NOT EXISTS (SELECT 1 FROM messages INDEXED BY messages_dead_group WHERE source_gid = g.id AND dead_at IS NOT NULL)
ORDER BY id LIMIT ?3
