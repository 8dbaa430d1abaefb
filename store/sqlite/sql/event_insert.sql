-- of a known id nothing is stored
INSERT INTO events (id, project, event_id, type, tenant, subject, hash, payload, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (project, event_id) DO NOTHING
