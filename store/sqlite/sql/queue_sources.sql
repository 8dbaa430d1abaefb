SELECT id FROM queues WHERE dlq = ? LIMIT 1
