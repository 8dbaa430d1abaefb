-- $1 queue: the id of its newest message, 0 if it has none
SELECT coalesce((SELECT id FROM messages WHERE queue = $1 AND queue > 0 ORDER BY id DESC LIMIT 1), 0)
