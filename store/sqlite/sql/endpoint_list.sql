SELECT id, project, tenant, url, event_types, description, headers, secrets, timeout_s, ladder, retry_4xx, policy, window_s,
       max_in_flight, rate, disabled, reason, created_at, updated_at
FROM endpoints WHERE project = ?1 AND deleted_at IS NULL AND (?2 IS NULL OR tenant = ?2) AND id < ?3
ORDER BY id DESC LIMIT ?4
