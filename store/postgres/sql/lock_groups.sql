-- $1 group ids, $2 a tick since which each is there. Locks them by id: whether each has a free slot, and is disabled.
SELECT g.id, slots, in_flight, disabled FROM unnest($1::bigint[], $2::bigint[]) AS u(id, tick) JOIN groups g ON g.id = ANY (ARRAY[u.id]) AND g.tick >= u.tick ORDER BY u.id FOR UPDATE OF g
