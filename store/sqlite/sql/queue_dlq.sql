SELECT d.id, d.retention_s FROM queues q JOIN queues d ON d.id = q.dlq WHERE q.id = ?
