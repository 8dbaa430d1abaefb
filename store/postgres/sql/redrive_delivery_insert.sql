-- $1 project, $2 filter, $3 rate, $4 canary, $5 dry_run, $6 state, $7 total, $8 who
INSERT INTO redrives (project, queue, filter, rate, canary, dry_run, state, total, who, finished_at)
VALUES ($1, 1, $2::text::jsonb, $3, $4, $5, $6, $7, nullif($8, ''), CASE WHEN $6 <> 'running' THEN now() END)
RETURNING id, created_at, coalesce(finished_at, '0001-01-01Z')
