SELECT event_id, created_at FROM events WHERE id = ?
