-- $1 ids: keeps queues from being deleted until this transaction ends, and answers those that are there
SELECT id FROM queues WHERE id = ANY ($1::bigint[]) ORDER BY id FOR KEY SHARE
