-- The queue that the message of a key may go back to, held until this transaction's end: $1 hash
SELECT q.id FROM queues q WHERE q.id = (
  SELECT source_queue FROM messages WHERE id = (SELECT message_id FROM worker_claims WHERE hash = $1))
FOR KEY SHARE
