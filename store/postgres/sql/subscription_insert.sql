-- $1 project, $2 queue, $3 url, $4 secret, $5 timeout_s, $6 max_in_flight. Nothing if there is one.
INSERT INTO subscriptions (project, queue, url, secret, timeout_s, max_in_flight) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (queue, url) DO NOTHING RETURNING id, created_at
