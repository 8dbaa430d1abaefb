UPDATE redrives SET state = ?, total = ?, moved = ?, left_behind = ?, last_id = ?, finished_at = ? WHERE id = ?
