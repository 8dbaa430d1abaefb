-- ?1 project, ?2 the last looked at, ?3 limit
SELECT m.id, m.source_gid, d.id, c.state, c.policy, d.created_at, e.tenant
FROM messages m INDEXED BY messages_dead
JOIN claims c ON c.id = m.claim_id JOIN deliveries d ON d.claim_id = c.id JOIN events e ON e.id = d.event
WHERE m.source_queue = 1 AND m.dead_at IS NOT NULL AND m.id > ?2 AND m.project = ?1 ORDER BY m.id LIMIT ?3
