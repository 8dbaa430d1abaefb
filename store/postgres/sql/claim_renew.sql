-- Deletes keys that this transaction has locked, with their histories: they were to be forgotten, and are asked for anew. $1 ids
WITH n AS (
  DELETE FROM claim_notes WHERE claim_id = ANY ($1::bigint[])
)
DELETE FROM worker_claims WHERE id = ANY ($1::bigint[])
