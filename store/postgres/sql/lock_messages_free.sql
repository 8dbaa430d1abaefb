-- $1 ids. lock_messages.sql without those that somebody else has locked.
SELECT id, project, queue, coalesce(gid, 0), prio, coalesce(place, 0), receives, max_receives, lease_no, leased, receipt_open, vis, published_at, origin_at,
       coalesce(received_at, '0001-01-01Z'), expires_at, retention_s, coalesce(claim_id, 0), coalesce(source_queue, 0), coalesce(source_gid, 0),
       coalesce(dead_at, '0001-01-01Z'), coalesce(last_error, '')
FROM messages WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE SKIP LOCKED
