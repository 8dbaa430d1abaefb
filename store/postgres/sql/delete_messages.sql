-- $1 ids of messages that this transaction has locked; deleted with their bodies.
WITH b AS (DELETE FROM bodies WHERE id = ANY ($1::bigint[]))
DELETE FROM messages WHERE id = ANY ($1::bigint[])
