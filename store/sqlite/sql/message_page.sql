SELECT id, project, queue, gid, prio, place, receives, max_receives, lease_no, leased, receipt_open,
       vis, published_at, origin_at, received_at, expires_at, retention_s,
       claim_id, source_queue, source_gid, dead_at, last_error
FROM messages INDEXED BY messages_queue WHERE queue = ? AND id > ? ORDER BY id LIMIT ?
