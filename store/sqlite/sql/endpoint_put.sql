-- everything but the project, the tenant and the time of its making can change
INSERT INTO endpoints (id, project, tenant, url, event_types, description, headers, secrets, timeout_s, ladder, retry_4xx, policy, window_s,
  max_in_flight, rate, disabled, reason, created_at, updated_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET url = excluded.url, event_types = excluded.event_types, description = excluded.description,
  headers = excluded.headers, secrets = excluded.secrets, timeout_s = excluded.timeout_s, ladder = excluded.ladder,
  retry_4xx = excluded.retry_4xx, policy = excluded.policy, window_s = excluded.window_s, max_in_flight = excluded.max_in_flight,
  rate = excluded.rate, disabled = excluded.disabled, reason = excluded.reason, updated_at = excluded.updated_at
