-- A claim's history does not grow for ever, a person's acts aside: claims, how many lines stay of each
DELETE FROM onceward_claim_notes WHERE what NOT IN ('resolved', 'reopened') AND id IN (
  SELECT n.id FROM (SELECT id, row_number() OVER (PARTITION BY claim_id ORDER BY id DESC) AS nth FROM onceward_claim_notes
    WHERE claim_id IN (SELECT value FROM json_each(?))) n WHERE n.nth > ?)
