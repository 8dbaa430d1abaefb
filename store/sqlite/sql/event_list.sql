SELECT id, event_id, type, tenant, subject, created_at FROM events WHERE project = ? AND id < ? ORDER BY id DESC LIMIT ?
