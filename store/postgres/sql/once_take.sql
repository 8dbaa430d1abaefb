-- $1 project, $2 scope, $3 key, $4 hash, $5 window_s. Takes the key if it is free or its window is over; waits for a transaction that has it.
INSERT INTO request_keys AS t (project, scope, key, hash, expires_at) VALUES ($1, $2, $3, $4, now() + $5 * interval '1 s')
ON CONFLICT (project, scope, key) DO UPDATE SET hash = excluded.hash, answer = NULL, event = NULL, expires_at = excluded.expires_at
  WHERE t.expires_at <= now()
RETURNING true
