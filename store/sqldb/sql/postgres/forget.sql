-- Deletes keys that ended long ago, with their histories: $1 limit
WITH f AS MATERIALIZED (
  SELECT id FROM onceward_claims WHERE state IN ('done', 'failed') AND forget_at <= statement_timestamp()
  ORDER BY forget_at LIMIT $1::bigint FOR UPDATE SKIP LOCKED
), n AS (
  DELETE FROM onceward_claim_notes WHERE claim_id IN (SELECT id FROM f)
)
DELETE FROM onceward_claims WHERE id IN (SELECT id FROM f)
