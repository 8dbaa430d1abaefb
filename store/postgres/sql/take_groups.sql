-- After a take: $1 group, $2 slots taken. The group's next turn is when its next message is due, and at the tail if one is: whoever
-- adds work from now on waits for this row and wakes the group again.
UPDATE groups t SET in_flight = t.in_flight + u.took, next_at = (
  SELECT greatest(vis, now()) FROM messages WHERE gid = t.id AND NOT leased AND prio = 0 ORDER BY vis, id LIMIT 1)
FROM unnest($1::bigint[], $2::int[]) u(id, took) WHERE t.id = u.id
