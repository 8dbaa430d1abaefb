-- when the next of a queue's groups has its turn
SELECT min(next_at) FROM groups INDEXED BY groups_turn
WHERE queue = ?1 AND NOT disabled AND in_flight < slots AND next_at IS NOT NULL
