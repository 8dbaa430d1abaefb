-- $1 how many wakes to look at: the queues that they are of
SELECT q.id, q.project, q.name FROM queues q WHERE q.id IN (SELECT queue FROM (SELECT queue FROM wakes ORDER BY id LIMIT $1) w)
