-- Keys that ended long ago: $1 limit, $2 memory_s
WITH f AS MATERIALIZED (
  SELECT id FROM worker_claims WHERE state IN ('done', 'failed') AND finished_at < now() - $2::float8 * interval '1 s'
  ORDER BY finished_at LIMIT $1 FOR UPDATE SKIP LOCKED
), n AS (
  DELETE FROM claim_notes WHERE claim_id IN (SELECT id FROM f)
)
DELETE FROM worker_claims WHERE id IN (SELECT id FROM f)
