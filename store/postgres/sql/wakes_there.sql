-- $1 queue, $2 after this id: whether messages wait to be given their groups
SELECT EXISTS (SELECT 1 FROM wakes WHERE queue = $1 AND id > $2)
