-- $1 queue, $2 after this id, $3 up to this id, $4 limit: ids of its messages, oldest first
SELECT id FROM messages WHERE queue = $1 AND queue > 0 AND id > $2 AND id <= $3 ORDER BY id LIMIT $4
