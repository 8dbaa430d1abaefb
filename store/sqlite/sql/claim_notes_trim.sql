-- a person's acts stay
DELETE FROM claim_notes WHERE claim_id = ?1 AND what NOT IN ('resolved', 'reopened', 'resent', 'cancelled') AND id <= (
  SELECT id FROM claim_notes WHERE claim_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)
