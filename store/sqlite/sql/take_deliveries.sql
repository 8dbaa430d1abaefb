-- in the order of the ids asked for
SELECT m.id, m.project, m.queue, m.gid, m.prio, m.place, m.receives, m.max_receives, m.lease_no, m.leased, m.receipt_open,
       m.vis, m.published_at, m.origin_at, m.received_at, m.expires_at, m.retention_s,
       m.claim_id, m.source_queue, m.source_gid, m.dead_at, m.last_error,
       c.id, c.project, c.scope, c.key, c.hash, c.work_hash, c.policy, c.state, c.fence, c.begun,
       c.attempt, c.tries, c.max_tries, c.ambiguous, c.grant_id, c.owner, c.lease_until, c.next_at,
       c.finished_at, c.first_at, c.window_s, c.keep_s, c.origin_at, c.created_at,
       c.message_id, c.lease_no, c.result, c.last_error,
       d.id, d.key_send, d.cause, d.ladder, e.event_id, e.type, e.payload
FROM json_each(?) ids CROSS JOIN messages m ON m.id = ids.value CROSS JOIN claims c ON c.id = m.claim_id
     CROSS JOIN deliveries d ON d.claim_id = c.id CROSS JOIN events e ON e.id = d.event
