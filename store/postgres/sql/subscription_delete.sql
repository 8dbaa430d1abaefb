-- $1 queue, $2 id
DELETE FROM subscriptions WHERE queue = $1 AND id = $2
