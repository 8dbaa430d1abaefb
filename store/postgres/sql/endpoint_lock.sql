-- $1 project, $2 id
SELECT id, project, coalesce(tenant, ''), url, event_types, description, headers, secrets, timeout_s, ladder, retry_4xx,
  CASE policy WHEN 'o' THEN 'once' ELSE 'idempotent' END, coalesce(window_s, 0), max_in_flight, coalesce(rate, 0), disabled,
  coalesce(reason, ''), created_at, updated_at
FROM endpoints WHERE id = $2 AND project = $1 AND deleted_at IS NULL FOR NO KEY UPDATE
