SELECT name FROM queues WHERE id = ?
