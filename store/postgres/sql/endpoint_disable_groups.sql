-- $1 ids of groups that this transaction has locked
UPDATE groups SET disabled = true WHERE id = ANY ($1::bigint[])
