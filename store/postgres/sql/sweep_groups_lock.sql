-- $1 group ids: locks those that nobody has
SELECT id FROM groups WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE SKIP LOCKED
