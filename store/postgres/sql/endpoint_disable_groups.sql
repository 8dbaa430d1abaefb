-- $1 ids of groups that this transaction has locked, their endpoints before them
UPDATE groups SET disabled = true WHERE id = ANY ($1::bigint[]) AND id IN (SELECT e.id FROM endpoints e WHERE e.id = ANY ($1::bigint[]) AND e.disabled)
