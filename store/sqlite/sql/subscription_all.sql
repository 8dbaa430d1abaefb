SELECT s.id, s.project, s.url, s.secret, s.timeout_s, s.max_in_flight, s.created_at, q.name FROM subscriptions s JOIN queues q ON q.id = s.queue ORDER BY s.id
