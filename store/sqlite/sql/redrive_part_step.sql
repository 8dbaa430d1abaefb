-- ?1 redrive, ?2 limit: the parts that can go on, those far behind first
SELECT endpoint, state, canary, last_id, total, moved, left_behind FROM redrive_parts
WHERE redrive = ?1 AND state IN ('waiting', 'open') ORDER BY last_id, endpoint LIMIT ?2
