-- A claim's history does not grow for ever, a person's acts aside: $1 claims, $2 how many lines stay of each
DELETE FROM onceward_claim_notes n USING jsonb_array_elements_text($1::text::jsonb) AS c
WHERE n.claim_id = c::bigint AND n.what NOT IN ('resolved', 'reopened')
  AND n.id <= (SELECT id FROM onceward_claim_notes WHERE claim_id = c::bigint ORDER BY id DESC OFFSET $2::bigint LIMIT 1)
