-- $1 claim ids: those that are there
SELECT id FROM claims WHERE id = ANY ($1::bigint[])
