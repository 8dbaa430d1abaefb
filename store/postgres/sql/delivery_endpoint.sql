-- Whether a delivery's endpoint is there, held until this transaction's end: $1 its id
SELECT id FROM endpoints WHERE id = $1 AND deleted_at IS NULL FOR SHARE
