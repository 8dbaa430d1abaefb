-- one in flight outlives its retention until its lease ends
SELECT id FROM messages NOT INDEXED
WHERE id > ?1 AND id <= ?2 AND expires_at <= ?3 AND NOT (leased = 1 AND vis > ?3) ORDER BY id LIMIT ?4
