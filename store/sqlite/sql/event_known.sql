SELECT id, hash, created_at FROM events WHERE project = ? AND event_id = ?
