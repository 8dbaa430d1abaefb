-- $1 limit. Locks keys of which callers' transactions said what their messages have to follow, and reads them with that; what somebody else has is passed by.
SELECT c.id, c.kind::text, c.project, coalesce(c.scope, ''), coalesce(c.key, ''), c.hash, c.work_hash, CASE c.policy WHEN 'o' THEN 'once' ELSE 'idempotent' END, c.state,
       c.fence, c.begun, c.attempt, c.tries, c.max_tries, c.ambiguous, coalesce(c.grant_id, ''), coalesce(c.owner, ''),
       coalesce(c.lease_until, '0001-01-01Z'), coalesce(c.next_at, '0001-01-01Z'), coalesce(c.finished_at, '0001-01-01Z'),
       coalesce(c.first_at, '0001-01-01Z'), coalesce(c.window_s, 0), coalesce(c.keep_s, 0), c.origin_at, c.created_at, coalesce(c.message_id, 0), c.lease_no, c.result,
       coalesce(c.last_error, ''), f.id, f.message, f.lease_no, f.act::text
FROM follows f JOIN worker_claims c ON c.id = f.claim ORDER BY f.id LIMIT $1 FOR UPDATE SKIP LOCKED
