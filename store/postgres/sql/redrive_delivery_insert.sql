-- $1 project, $2 filter, $3 rate, $4 canary, $5 dry_run, $6 state, $7 total, $8 left, $9 who, $10 paced_at
INSERT INTO redrives (project, queue, filter, rate, canary, dry_run, state, total, left_behind, who, paced_at, finished_at)
VALUES ($1, 1, $2::text::jsonb, $3, $4, $5, $6, $7, $8, nullif($9, ''), $10, CASE WHEN $6 <> 'running' THEN now() END)
RETURNING id, created_at, coalesce(finished_at, '0001-01-01Z')
