SELECT event_id, type, payload FROM events WHERE id = ?
