SELECT id, project, tenant, url, event_types, description, headers, secrets, timeout_s, ladder, retry_4xx, policy, window_s,
       max_in_flight, rate, disabled, reason, created_at, updated_at
FROM endpoints WHERE id IN (SELECT value FROM json_each(?)) AND deleted_at IS NULL
