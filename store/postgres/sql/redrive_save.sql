-- $1 id, $2 state, $3 total, $4 moved, $5 left, $6 last_id, $7 paced_at
UPDATE redrives SET state = $2, total = $3, moved = $4, left_behind = $5, last_id = $6, paced_at = $7, finished_at = CASE WHEN $2 <> 'running' THEN now() END WHERE id = $1
