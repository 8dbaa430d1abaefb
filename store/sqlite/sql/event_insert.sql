INSERT INTO events (id, project, event_id, type, tenant, subject, hash, payload, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
