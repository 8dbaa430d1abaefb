SELECT id, tenant, event_types, ladder, policy, window_s
FROM endpoints WHERE id = ? AND project = ? AND deleted_at IS NULL
