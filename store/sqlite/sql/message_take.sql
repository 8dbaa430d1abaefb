SELECT m.id, m.project, m.queue, m.gid, m.prio, m.place, m.receives, m.max_receives, m.lease_no, m.leased, m.receipt_open,
       m.vis, m.published_at, m.origin_at, m.received_at, m.expires_at, m.retention_s,
       m.claim_id, m.source_queue, m.source_gid, m.dead_at, m.last_error,
       b.body, b.headers
FROM messages m LEFT JOIN bodies b ON b.id = m.id WHERE m.id = ?
