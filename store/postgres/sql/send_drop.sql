-- Events that are refused after all: $1 id
DELETE FROM events WHERE id = ANY ($1::bigint[])
