-- $1 group ids, $2 slots taken (+) or given back (-), $3 when each has work (year 1: nothing new), $4 a tick since which each is there. Locked by id.
-- wake_xid tells a receive whose snapshot is older than this transaction not to park the group. One that was full goes to the tail.
WITH l AS MATERIALIZED (
  SELECT g.id, u.tick, u.slot, nullif(u.wake, '0001-01-01Z') AS wake
  FROM unnest($1::bigint[], $2::int[], $3::timestamptz[], $4::bigint[]) AS u(id, slot, wake, tick) JOIN groups g ON g.id = ANY (ARRAY[u.id]) AND g.tick >= u.tick
  ORDER BY u.id FOR UPDATE OF g
)
UPDATE groups g SET in_flight = g.in_flight + l.slot, wake_xid = pg_current_xact_id(), tick = greatest(g.tick, group_tick()),
  next_at = CASE WHEN g.in_flight >= g.slots AND g.next_at < now() THEN now() ELSE least(g.next_at, l.wake) END,
  low = CASE WHEN g.in_flight >= g.slots AND g.next_at < now() THEN least(g.low, g.next_at, l.wake) ELSE g.low END
FROM l WHERE g.id = ANY (ARRAY[l.id]) AND g.tick >= l.tick
