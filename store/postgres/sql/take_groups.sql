-- After a take: $1 group, $2 slots taken, $3 its tick. The group's next turn is when its next message is due, and at the tail if one is: whoever
-- adds work from now on waits for this row and wakes the group again. Nothing that waits is due before that message: the mark is set to it.
UPDATE groups t SET in_flight = t.in_flight + u.took, tick = greatest(t.tick, group_tick()), (next_at, low) = (
  SELECT CASE WHEN h.vis IS NOT NULL THEN greatest(h.vis, now()) END, coalesce(h.vis, 'infinity')
  FROM (SELECT (SELECT vis FROM messages WHERE gid = t.id AND NOT leased AND prio = 0 AND vis >= least(t.low, t.next_at)
    ORDER BY vis, id LIMIT 1) AS vis OFFSET 0) h) -- OFFSET: looked for once
FROM unnest($1::bigint[], $2::int[], $3::bigint[]) u(id, took, tick) WHERE t.id = ANY (ARRAY[u.id]) AND t.tick >= u.tick
