-- $1 project, $2 source queue, $3 its name, $4 filter, $5 rate, $6 dry_run, $7 state, $8 total, $9 left, $10 who, $11 paced_at
INSERT INTO redrives (project, queue, name, filter, rate, dry_run, state, total, left_behind, who, paced_at, finished_at)
VALUES ($1, $2, $3, $4::text::jsonb, $5, $6, $7, $8, $9, nullif($10, ''), $11, CASE WHEN $7 <> 'running' THEN now() END)
RETURNING id, created_at, coalesce(finished_at, '0001-01-01Z')
