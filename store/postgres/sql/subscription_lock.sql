-- $1 queue, $2 url: locks the one there is
SELECT id, project, url, secret, timeout_s, max_in_flight, created_at FROM subscriptions WHERE queue = $1 AND url = $2 FOR UPDATE
