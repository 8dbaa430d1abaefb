UPDATE redrives SET state = ?, total = ?, moved = ?, left_behind = ?, last_id = ?, finished_at = ?, paced_at = ? WHERE id = ?
