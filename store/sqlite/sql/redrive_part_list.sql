-- ?1 redrive, ?2 before this endpoint, ?3 limit. Newest first
SELECT endpoint, state, canary, last_id, total, moved, left_behind FROM redrive_parts WHERE redrive = ?1 AND endpoint < ?2 ORDER BY endpoint DESC LIMIT ?3
