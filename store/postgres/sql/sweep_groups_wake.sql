-- $1 group ids: gives a turn to those that have work and do not know it, or whose visits pass by some
WITH l AS MATERIALIZED (
  SELECT id FROM groups WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE SKIP LOCKED
)
UPDATE groups g SET next_at = least(g.next_at, (SELECT min(m.vis) FROM messages m WHERE m.gid = g.id AND NOT m.leased)), wake_xid = pg_current_xact_id(), tick = greatest(tick, group_tick())
FROM l WHERE g.id = ANY (ARRAY[l.id]) AND (SELECT m.id FROM messages m WHERE m.gid = g.id AND NOT m.leased LIMIT 1) IS NOT NULL
