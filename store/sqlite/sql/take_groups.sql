-- ? most that an endpoint may have in flight, ? turn, ? limit
SELECT id, queue, name, slots, in_flight, disabled, hold_s, next_at FROM groups
WHERE queue = 1 AND NOT disabled AND in_flight < min(slots, ?) AND next_at IS NOT NULL AND next_at <= ? ORDER BY next_at, id LIMIT ?
