-- $1 project, $2 name: keeps a queue's settings from being changed. Transactions that have published to it, however long they stay open, are in nobody's way.
SELECT id FROM queues WHERE project = $1 AND name = $2 FOR NO KEY UPDATE
