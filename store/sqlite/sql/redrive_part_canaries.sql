-- ?1 redrive, ?2 limit: parts that wait for what comes of their canary. No order: those that wait long keep no other from being heard.
SELECT endpoint, state, canary, last_id, total, moved, left_behind FROM redrive_parts
WHERE redrive = ?1 AND state = 'canary' ORDER BY random() LIMIT ?2
