-- $1 hashes of keys of workers. Locks the claims by id, and reads them. $2 how long this transaction waits for a lock; then a key that may be in somebody's own open
-- transaction (functions/sql/ledger.sql) is left alone: of it comes a row with its hash and the id 0. Empty: wait.
WITH h AS MATERIALIZED ( -- whoever has a key of a slot in one shares the slot's lock
  SELECT hash FROM (SELECT hash, get_byte(hash, 0) * 4 + get_byte(hash, 1) / 64 AS slot FROM unnest($1::bytea[]) u(hash) OFFSET 0) s
  WHERE (SELECT $2 <> '' AND set_config('lock_timeout', $2, true) <> '')
    AND CASE WHEN pg_try_advisory_lock(1668050291, slot) THEN NOT pg_advisory_unlock(1668050291, slot) ELSE true END
), c AS (
  SELECT * FROM worker_claims
  WHERE hash = ANY (CASE WHEN EXISTS (SELECT 1 FROM h) THEN ARRAY(SELECT hash FROM unnest($1::bytea[]) u(hash) EXCEPT SELECT hash FROM h) ELSE $1::bytea[] END) ORDER BY id FOR UPDATE
)
SELECT id, kind::text, project, coalesce(scope, ''), coalesce(key, ''), hash, work_hash, CASE policy WHEN 'o' THEN 'once' ELSE 'idempotent' END, state,
       fence, begun, attempt, tries, max_tries, ambiguous, coalesce(grant_id, ''), coalesce(owner, ''),
       coalesce(lease_until, '0001-01-01Z'), coalesce(next_at, '0001-01-01Z'), coalesce(finished_at, '0001-01-01Z'),
       coalesce(first_at, '0001-01-01Z'), coalesce(window_s, 0), coalesce(keep_s, 0), origin_at, created_at, coalesce(message_id, 0), lease_no, result,
       coalesce(last_error, '')
FROM c
UNION ALL
SELECT 0, 'w', 0, '', '', hash, NULL, 'idempotent', 'new', 0, 0, 0, 0, 1, false, '', '', '0001-01-01Z', '0001-01-01Z', '0001-01-01Z', '0001-01-01Z', 0, 0, now(), now(), 0, 0, NULL, ''
FROM h
