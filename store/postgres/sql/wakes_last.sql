-- $1 queue: the last wake of it
SELECT coalesce(max(id), 0) FROM wakes WHERE queue = $1
