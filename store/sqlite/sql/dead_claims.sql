-- ?1 source, ?2 at most so many, the oldest; -1: no limit. Its dead letters by how their claims are
SELECT c.state, c.policy, count(*)
FROM (SELECT claim_id FROM messages INDEXED BY messages_dead WHERE source_queue = ?1 AND dead_at IS NOT NULL ORDER BY id LIMIT ?2) m
LEFT JOIN claims c ON c.id = m.claim_id GROUP BY 1, 2
