-- $1 project, $2 name, $3 the wake after which to look for more
SELECT id, paused, grouped, fifo, visibility_s, EXISTS (SELECT 1 FROM wakes w WHERE w.queue = q.id AND w.id > $3) FROM queues q WHERE project = $1 AND name = $2
