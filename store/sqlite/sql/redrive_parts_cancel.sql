UPDATE redrive_parts SET state = 'cancelled', left_behind = total - moved WHERE redrive = ? AND state IN ('waiting', 'canary', 'open')
