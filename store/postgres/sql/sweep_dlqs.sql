-- $1 queue ids: their dead-letter queues
SELECT q.id, d.id, d.retention_s FROM queues q JOIN queues d ON d.id = q.dlq WHERE q.id = ANY ($1::bigint[])
