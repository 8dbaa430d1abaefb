-- $1 project, $2 event_id, $3 type, $4 tenant, $5 subject, $6 hash, $7 payload. An event_id that is there adds nothing.
INSERT INTO events (project, event_id, type, tenant, subject, hash, payload)
SELECT u.* FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::bytea[])
  u(project, event_id, type, tenant, subject, hash, payload)
ORDER BY u.project, u.event_id COLLATE "C"
ON CONFLICT (project, event_id) DO NOTHING
RETURNING id, project, event_id, created_at
