SELECT id, tenant, event_types, ladder, policy, window_s
FROM endpoints WHERE project = ? AND tenant IS ? AND deleted_at IS NULL ORDER BY id
