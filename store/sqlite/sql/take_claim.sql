SELECT c.id, c.project, c.scope, c.key, c.hash, c.work_hash, c.policy, c.state, c.fence, c.begun,
       c.attempt, c.tries, c.max_tries, c.ambiguous, c.grant_id, c.owner, c.lease_until, c.next_at,
       c.finished_at, c.first_at, c.window_s, c.origin_at, c.created_at,
       c.message_id, c.lease_no, c.result, c.last_error,
       d.id, d.key_send, d.cause, d.ladder, e.event_id, e.type, e.payload
FROM claims c JOIN deliveries d ON d.claim_id = c.id JOIN events e ON e.id = d.event WHERE c.id = ?
