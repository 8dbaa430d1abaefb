-- An endpoint and its group, one id for both: $1 project, $2 tenant, $3 url, $4 event_types, $5 description, $6 headers, $7 secrets,
-- $8 timeout_s, $9 ladder, $10 retry_4xx, $11 policy, $12 window_s, $13 max_in_flight, $14 rate, $15 disabled, $16 reason
WITH g AS (
  INSERT INTO groups (id, queue, name, slots, disabled, hold_s)
  SELECT id, 1, id::text, $13, $15, $8 FROM nextval(pg_get_serial_sequence('groups', 'id')) AS id
  RETURNING id
)
INSERT INTO endpoints (id, project, tenant, url, event_types, description, headers, secrets, timeout_s, ladder, retry_4xx, policy,
  window_s, max_in_flight, rate, disabled, reason)
SELECT id, $1, nullif($2, ''), $3, $4, $5, $6, $7, $8, $9, $10, CASE $11 WHEN 'once' THEN 'o' ELSE 'i' END::"char", nullif($12::float8, 0), $13,
  nullif($14::float8, 0), $15, nullif($16, '')
FROM g
RETURNING id, created_at, updated_at
