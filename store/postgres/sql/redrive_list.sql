-- $1 project, $2 before this id (0: from the newest), $3 limit. Newest first.
SELECT id, project, coalesce(name, ''), filter::text, rate, dry_run, state, total, moved, left_behind, created_at, coalesce(finished_at, '0001-01-01Z')
FROM redrives WHERE project = $1 AND ($2 = 0 OR id < $2) ORDER BY id DESC LIMIT $3
