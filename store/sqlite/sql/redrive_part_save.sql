UPDATE redrive_parts SET state = ?, canary = ?, last_id = ?, total = ?, moved = ?, left_behind = ? WHERE redrive = ? AND endpoint = ?
