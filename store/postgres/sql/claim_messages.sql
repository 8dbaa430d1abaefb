-- Locks the messages that keys of workers carry, which this transaction has locked, by id, and reads them: $1 the hashes of the keys, $2 whether of each in any case, or only if
-- nobody holds it. $3 as $2 of claim_lock.sql; then, while a key may be in somebody's own open transaction, none is locked, and a row comes with the id 0.
WITH o AS MATERIALIZED (
  SELECT EXISTS (SELECT 1 FROM (SELECT get_byte(hash, 0) * 4 + get_byte(hash, 1) / 64 AS slot FROM unnest($1::bytea[]) u(hash) OFFSET 0) s
    WHERE $3 <> '' AND CASE WHEN pg_try_advisory_lock(1668050291, slot) THEN NOT pg_advisory_unlock(1668050291, slot) ELSE true END) AS held
), m AS (
  SELECT * FROM messages WHERE NOT (SELECT held FROM o) AND id = ANY (ARRAY(
    SELECT c.message_id FROM unnest($1::bytea[], $2::bool[]) u(hash, always) JOIN worker_claims c ON c.hash = u.hash
    WHERE c.message_id IS NOT NULL AND (u.always OR c.state NOT IN ('claimed', 'started')))) ORDER BY id FOR UPDATE
)
SELECT id, project, queue, coalesce(gid, 0), prio, coalesce(place, 0), receives, max_receives, lease_no, leased, receipt_open, vis, published_at, origin_at,
       coalesce(received_at, '0001-01-01Z'), expires_at, retention_s, coalesce(claim_id, 0), coalesce(source_queue, 0), coalesce(source_gid, 0),
       coalesce(dead_at, '0001-01-01Z'), coalesce(last_error, '')
FROM m
UNION ALL
SELECT 0, 0, 0, 0, 0, 0, 0, 1, 0, false, false, now(), now(), now(), now(), now(), 0, 0, 0, 0, now(), '' FROM o WHERE held
