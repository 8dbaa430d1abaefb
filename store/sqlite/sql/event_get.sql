SELECT id, event_id, type, tenant, subject, payload, created_at FROM events WHERE project = ? AND event_id = ?
