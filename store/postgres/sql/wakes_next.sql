-- $1 queue, $2 after this id, $3 limit: the last of the next wakes, and the groups that they name
SELECT coalesce(max(id), 0), coalesce(array_agg(DISTINCT name), '{}')
FROM (SELECT id, name FROM wakes WHERE queue = $1 AND id > $2 ORDER BY id LIMIT $3) w
