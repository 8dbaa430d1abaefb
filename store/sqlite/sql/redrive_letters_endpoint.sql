-- ?1 endpoint, ?2 the last looked at, ?3 the redrive's start, ?4 the last to look at, ?5 limit
SELECT m.id, m.source_gid, d.id, CASE WHEN m.dead_at <= ?3 THEN c.state END, c.policy, d.created_at, e.tenant
FROM messages m INDEXED BY messages_dead_group
LEFT JOIN claims c ON c.id = m.claim_id LEFT JOIN deliveries d ON d.claim_id = m.claim_id LEFT JOIN events e ON e.id = d.event
WHERE m.source_gid = ?1 AND m.dead_at IS NOT NULL AND m.id > ?2 AND m.id <= ?4 ORDER BY m.id LIMIT ?5
