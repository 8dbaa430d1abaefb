-- $1 hashes of workers' keys, $2 how long this transaction waits for a lock: for each, in order, whether it may be in somebody's own open transaction
-- (functions/sql/ledger.sql). Whoever has a key of the slot in one shares the lock.
SELECT CASE WHEN pg_try_advisory_lock(1668050291, slot) THEN NOT pg_advisory_unlock(1668050291, slot) ELSE true END
FROM (SELECT n, get_byte(h, 0) * 4 + get_byte(h, 1) / 64 AS slot FROM unnest($1::bytea[]) WITH ORDINALITY u(h, n) ORDER BY n OFFSET 0) s
WHERE (SELECT set_config('lock_timeout', $2, true) <> '')
