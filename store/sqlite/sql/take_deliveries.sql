-- in the order of the ids asked for; of a message that waits in an endpoint's group, and of its claim, what is not the same for all
SELECT m.id, m.gid, m.receives, m.max_receives, m.lease_no, m.receipt_open, m.vis, m.published_at, m.origin_at, m.received_at, m.expires_at, m.retention_s,
       m.claim_id, m.last_error,
       c.project, c.policy, c.state, c.fence, c.begun, c.attempt, c.tries, c.max_tries, c.ambiguous, c.grant_id, c.owner, c.lease_until, c.next_at,
       c.first_at, c.window_s, c.origin_at, c.message_id, c.lease_no, c.last_error,
       d.id, d.key_send, d.cause, d.ladder, e.event_id, e.type, e.payload
FROM json_each(?) ids CROSS JOIN messages m ON m.id = ids.value CROSS JOIN claims c ON c.id = m.claim_id
     CROSS JOIN deliveries d ON d.claim_id = c.id CROSS JOIN events e ON e.id = d.event
