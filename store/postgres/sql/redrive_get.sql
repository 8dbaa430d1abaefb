-- $1 project, $2 id
SELECT id, project, coalesce(name, ''), filter::text, rate, dry_run, state, total, moved, left_behind, created_at, coalesce(finished_at, '0001-01-01Z')
FROM redrives WHERE project = $1 AND id = $2
