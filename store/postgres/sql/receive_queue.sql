-- $1 project, $2 name
SELECT id, paused, grouped, visibility_s FROM queues WHERE project = $1 AND name = $2
