-- $1 queue, $2 after this wake, $3 up to this one; $4 names of groups, $5 their ids, $6 a tick since which each is there. Gives messages that were published
-- inside transactions of others their groups, and the groups their turn. One of a queue at a time, or a later message of a group would overtake those that another has
-- in hand: while somebody is at it there is nothing to do. Wakes whose group has gone stay; of a message that has gone none does. In a fifo group a message has its place from here on, under the group's lock. Answers the time and how many wakes are done, how many were looked at, and the groups that were changed. Locks are wakes, messages, groups.
WITH w AS MATERIALIZED (
  SELECT w.id, w.message, u.gid, u.tick FROM wakes w JOIN unnest($4::text[], $5::bigint[], $6::bigint[]) AS u(name, gid, tick) ON u.name COLLATE "C" = w.name
  WHERE w.queue = $1 AND w.id > $2 AND w.id <= $3 AND (SELECT pg_try_advisory_xact_lock(1936288617, hashint8($1))) ORDER BY w.id FOR UPDATE OF w SKIP LOCKED
), l AS MATERIALIZED (
  SELECT m.id, m.vis, w.gid, w.tick FROM w JOIN messages m ON m.id = ANY (ARRAY[w.message]) WHERE m.gid = -1 ORDER BY w.message FOR UPDATE OF m
), gl AS MATERIALIZED (
  SELECT g.id, g.place, n.vis, n.tick FROM groups g
  JOIN (SELECT gid, min(vis) AS vis, min(tick) AS tick FROM l GROUP BY gid) n ON g.id = ANY (ARRAY[n.gid]) AND g.tick >= n.tick AND g.queue = $1
  ORDER BY n.gid FOR UPDATE OF g
), p AS MATERIALIZED (
  SELECT l.id, l.gid, CASE WHEN gl.place IS NOT NULL THEN nextval('message_seq') END AS place FROM l JOIN gl ON gl.id = l.gid ORDER BY l.id
), m AS (
  UPDATE messages m SET gid = p.gid, place = p.place FROM p WHERE m.id = ANY (ARRAY[p.id])
), gu AS ( -- a turn no sooner than now, where looks from the mark of turns see it; the message itself may have been due for long
  UPDATE groups g SET next_at = least(g.next_at, greatest(gl.vis, now())), low = least(g.low, gl.vis), wake_xid = pg_current_xact_id(),
    tick = greatest(g.tick, group_tick())
  FROM gl WHERE g.id = ANY (ARRAY[gl.id]) AND g.tick >= gl.tick
  RETURNING g.id
), d AS (
  DELETE FROM wakes WHERE queue = $1 AND id IN (SELECT w.id FROM w WHERE w.gid IN (SELECT id FROM gl) OR NOT EXISTS (SELECT 1 FROM l WHERE l.id = w.message)) RETURNING id
)
SELECT now(), (SELECT count(*) FROM d), (SELECT count(*) FROM w), ARRAY(SELECT id FROM gu)
