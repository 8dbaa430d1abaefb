-- $1 id: keeps a queue from being deleted until this transaction ends
SELECT id FROM queues WHERE id = $1 FOR KEY SHARE
