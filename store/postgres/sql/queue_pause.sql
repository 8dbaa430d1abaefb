-- $1 project, $2 name, $3 paused
UPDATE queues SET paused = $3 WHERE project = $1 AND name = $2
