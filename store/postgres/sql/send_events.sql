-- $1 project, $2 event_id, $3 type, $4 tenant, $5 subject, $6 hash, $7 payload. An event_id that is there adds nothing. $8 how long the transaction waits for a
-- lock; then an event_id that may be in somebody's own open transaction (functions/tx_send.sql) adds nothing either. Empty: wait.
INSERT INTO events (project, event_id, type, tenant, subject, hash, payload)
SELECT u.* FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::bytea[])
  u(project, event_id, type, tenant, subject, hash, payload)
WHERE (SELECT $8 = '' OR set_config('lock_timeout', $8, true) <> '')
  AND CASE WHEN $8 = '' THEN true -- whoever has an id of this slot in a transaction of his own shares the lock
    WHEN pg_try_advisory_lock(1801812339, hashtext(u.event_id) & 1023) THEN pg_advisory_unlock(1801812339, hashtext(u.event_id) & 1023) ELSE false END
ORDER BY u.project, u.event_id COLLATE "C"
ON CONFLICT (project, event_id) DO NOTHING
RETURNING id, project, event_id, created_at
