DELETE FROM queues WHERE id = ?
