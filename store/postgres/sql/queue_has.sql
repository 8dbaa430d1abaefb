-- $1 queue: whether it has a message, and whether it is somebody's dead-letter queue
SELECT EXISTS (SELECT 1 FROM messages WHERE queue = $1 AND queue > 0), EXISTS (SELECT 1 FROM queues WHERE dlq = $1)
