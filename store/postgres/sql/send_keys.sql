-- Request keys, each taken if it is free or past its window: $1 project, $2 scope, $3 key, $4 hash, $5 window_s. $6 how long the transaction waits for a lock; then
-- one that may be in somebody's own open transaction (functions/tx_send.sql) is passed by. Empty: whoever holds one in an open transaction is waited for. Those that are not taken are not in the answer.
INSERT INTO request_keys AS k (project, scope, key, hash, expires_at)
SELECT u.project, u.scope, u.key, u.hash, now() + $5 * interval '1 s'
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bytea[]) u(project, scope, key, hash)
WHERE (SELECT $6 = '' OR set_config('lock_timeout', $6, true) <> '')
  AND CASE WHEN $6 = '' THEN true -- whoever has a key of this slot in a transaction of his own shares the lock
    WHEN pg_try_advisory_lock(1801812339, hashtext(u.key) & 1023) THEN pg_advisory_unlock(1801812339, hashtext(u.key) & 1023) ELSE false END
ORDER BY u.project, u.scope COLLATE "C", u.key COLLATE "C"
ON CONFLICT (project, scope, key) DO UPDATE
  SET hash = EXCLUDED.hash, answer = NULL, event = NULL, expires_at = EXCLUDED.expires_at WHERE k.expires_at <= now()
RETURNING k.project, k.scope, k.key
