-- ?1 queue, ?2 turn, ?3 limit
SELECT id, queue, name, slots, in_flight, disabled, hold_s, next_at FROM groups INDEXED BY groups_turn
WHERE queue = ?1 AND NOT disabled AND in_flight < slots AND next_at IS NOT NULL AND next_at < ?2
ORDER BY next_at, id LIMIT ?3
