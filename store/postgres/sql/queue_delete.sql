-- $1 queue: it, its groups, its wakes and its running redrive, once its messages are gone
WITH g AS (DELETE FROM groups WHERE id IN (SELECT id FROM group_names WHERE queue = $1)),
     w AS (DELETE FROM wakes WHERE queue = $1),
     r AS (UPDATE redrives SET state = 'cancelled', finished_at = now(), left_behind = greatest(total, moved + left_behind) - moved, total = greatest(total, moved + left_behind) WHERE queue = $1 AND state = 'running')
DELETE FROM queues WHERE id = $1
