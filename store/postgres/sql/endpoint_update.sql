-- As endpoint_create.sql, with $1 the id
UPDATE endpoints SET tenant = nullif($2, ''), url = $3, event_types = $4, description = $5, headers = $6, secrets = $7, timeout_s = $8,
  ladder = $9, retry_4xx = $10, policy = CASE $11 WHEN 'once' THEN 'o' ELSE 'i' END::"char", window_s = nullif($12::float8, 0),
  max_in_flight = $13, rate = nullif($14::float8, 0), disabled = $15, reason = nullif($16, ''), updated_at = now()
WHERE id = $1
RETURNING updated_at
