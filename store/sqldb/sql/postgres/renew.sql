-- Deletes locked keys that were forgotten and are asked for anew, with their histories: $1 ids
WITH n AS (
  DELETE FROM onceward_claim_notes WHERE claim_id = ANY (ARRAY(SELECT c::bigint FROM jsonb_array_elements_text($1::text::jsonb) AS c))
)
DELETE FROM onceward_claims WHERE id = ANY (ARRAY(SELECT c::bigint FROM jsonb_array_elements_text($1::text::jsonb) AS c))
