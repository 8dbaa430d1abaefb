-- Events with all that is theirs: $1 events, $2 deliveries, $3 claims, $4 hashes of former sends' claims
WITH c AS (
  DELETE FROM delivery_claims WHERE id = ANY ($3::bigint[]) OR hash = ANY ($4::bytea[]) RETURNING id
), n AS (
  DELETE FROM claim_notes WHERE claim_id IN (SELECT id FROM c)
), a AS (
  DELETE FROM attempts WHERE delivery = ANY ($2::bigint[])
), d AS (
  DELETE FROM deliveries WHERE id = ANY ($2::bigint[])
)
DELETE FROM events WHERE id = ANY ($1::bigint[])
