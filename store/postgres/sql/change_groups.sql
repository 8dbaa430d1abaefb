-- $1 group ids, $2 slots taken (+) or given back (-), $3 when each has work (year 1: nothing new). Locked by id.
-- wake_xid tells a receive whose snapshot is older than this transaction not to park the group.
WITH l AS MATERIALIZED (
  SELECT g.id, u.slot, nullif(u.wake, '0001-01-01Z') AS wake
  FROM groups g JOIN unnest($1::bigint[], $2::int[], $3::timestamptz[]) AS u(id, slot, wake) ON u.id = g.id
  ORDER BY g.id FOR UPDATE OF g
)
UPDATE groups g SET in_flight = g.in_flight + l.slot, next_at = least(g.next_at, l.wake), wake_xid = pg_current_xact_id()
FROM l WHERE g.id = l.id
