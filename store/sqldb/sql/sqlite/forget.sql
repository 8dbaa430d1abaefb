-- Deletes keys that ended long ago, with their histories: now, how many
DELETE FROM onceward_claim_notes WHERE claim_id IN (
  SELECT id FROM onceward_claims WHERE state IN ('done', 'failed') AND forget_at <= ? ORDER BY forget_at, id LIMIT ?);
DELETE FROM onceward_claims WHERE id IN (
  SELECT id FROM onceward_claims WHERE state IN ('done', 'failed') AND forget_at <= ? ORDER BY forget_at, id LIMIT ?)
