-- $1 queue, $2 before this id, $3 limit. Newest first.
SELECT id, project, url, secret, timeout_s, max_in_flight, created_at FROM subscriptions WHERE queue = $1 AND id < $2 ORDER BY id DESC LIMIT $3
