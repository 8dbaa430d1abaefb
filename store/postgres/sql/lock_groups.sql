-- $1 group ids. Locks them by id: whether each has a free slot, and is disabled.
SELECT id, slots, in_flight, disabled FROM groups WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE
