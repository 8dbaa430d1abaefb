-- Keys that ended longer ago than they are to be remembered: $1 limit, $2 memory_s
WITH f AS MATERIALIZED (
  SELECT id FROM worker_claims WHERE id = ANY (ARRAY(SELECT id FROM (
    (SELECT id FROM worker_claims WHERE state IN ('done', 'failed') AND keep_s IS NULL AND finished_at <= now() - $2::float8 * interval '1 s' ORDER BY finished_at LIMIT $1)
    UNION ALL
    (SELECT id FROM worker_claims WHERE state IN ('done', 'failed') AND keep_s IS NOT NULL AND (finished_at AT TIME ZONE 'UTC') + keep_s * interval '1 s' <= now() AT TIME ZONE 'UTC'
     ORDER BY (finished_at AT TIME ZONE 'UTC') + keep_s * interval '1 s' LIMIT $1)
  ) x LIMIT $1))
    AND state IN ('done', 'failed') AND finished_at + coalesce(keep_s, $2::float8) * interval '1 s' <= now() -- a person may have reopened one meanwhile
  FOR UPDATE SKIP LOCKED
), n AS (
  DELETE FROM claim_notes WHERE claim_id IN (SELECT id FROM f)
)
DELETE FROM worker_claims WHERE id IN (SELECT id FROM f)
