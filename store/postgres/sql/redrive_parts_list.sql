-- $1 redrive, $2 before this endpoint, $3 limit. Newest first
SELECT endpoint, state, coalesce(canary, 0), total, moved, left_behind FROM redrive_parts WHERE redrive = $1 AND endpoint < $2 ORDER BY endpoint DESC LIMIT $3
