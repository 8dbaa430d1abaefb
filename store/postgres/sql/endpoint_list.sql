-- newest first: $1 project, $2 tenant or '' for all, $3 before this id, $4 limit
SELECT id, project, coalesce(tenant, ''), url, event_types, description, headers, secrets, timeout_s, ladder, retry_4xx,
  CASE policy WHEN 'o' THEN 'once' ELSE 'idempotent' END, coalesce(window_s, 0), max_in_flight, coalesce(rate, 0), disabled,
  coalesce(reason, ''), created_at, updated_at
FROM endpoints WHERE project = $1 AND ($2 = '' OR tenant = $2) AND id < $3 AND deleted_at IS NULL
ORDER BY id DESC LIMIT $4
