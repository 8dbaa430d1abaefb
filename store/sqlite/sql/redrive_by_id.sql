SELECT id, project, queue, name, filter, rate, canary, dry_run, state, total, moved, left_behind, last_id, who, created_at, finished_at, paced_at
FROM redrives WHERE project = ? AND id = ?
