SELECT id, project, url, secret, timeout_s, max_in_flight, created_at FROM subscriptions WHERE queue = ? AND url = ?
