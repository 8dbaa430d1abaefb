-- A claim's history does not grow for ever, a person's acts aside: $1 claims, $2 how many lines stay of each
DELETE FROM claim_notes n USING unnest($1::bigint[]) c(id)
WHERE n.claim_id = c.id AND n.what NOT IN ('resolved', 'reopened', 'resent', 'cancelled')
  AND n.id <= (SELECT id FROM claim_notes WHERE claim_id = c.id ORDER BY id DESC OFFSET $2 LIMIT 1)
