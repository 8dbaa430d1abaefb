SELECT id, queue, name, slots, in_flight, disabled, hold_s, next_at FROM groups WHERE id = ?
