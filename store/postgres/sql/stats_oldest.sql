-- $1 queue, $2 the id at which to begin: its oldest message from there, and its age
SELECT id, greatest(0, extract(epoch FROM now() - published_at))::float8 FROM messages WHERE queue = $1 AND queue > 0 AND id >= $2 ORDER BY id LIMIT 1
