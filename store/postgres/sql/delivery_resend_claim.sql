-- The claim of a new send, made as its delivery was, and its message's id: $1 the former claim, $2 hash. It begins now, since a person says so.
INSERT INTO delivery_claims (kind, project, hash, policy, state, attempt, max_tries, window_s, message_id)
SELECT 'd', project, $2, policy, 'new', attempt, max_tries, window_s, nextval('message_seq') FROM delivery_claims WHERE id = $1
RETURNING id, message_id
