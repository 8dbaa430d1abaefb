INSERT INTO subscriptions (id, project, queue, url, secret, timeout_s, max_in_flight, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
