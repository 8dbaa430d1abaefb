-- The queue that the message of a key may go back to, held until this transaction's end: $1 hash
SELECT q.id FROM queues q WHERE q.id = (
  SELECT m.source_queue FROM worker_claims c JOIN messages m ON m.id = ANY (ARRAY[c.message_id]) WHERE c.hash = $1)
FOR KEY SHARE
