-- newest first, before an id
SELECT id, project, url, secret, timeout_s, max_in_flight, created_at FROM subscriptions WHERE queue = ? AND id < ? ORDER BY id DESC LIMIT ?
