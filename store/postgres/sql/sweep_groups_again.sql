-- $1 group ids: makes the group '' of their queues where it is missing, as group_ensure.sql does. A queue that is being deleted is waited for.
WITH q AS MATERIALIZED (
  SELECT id FROM queues WHERE id IN (SELECT queue FROM groups WHERE id = ANY ($1::bigint[]) AND name <> '') AND NOT fifo ORDER BY id FOR KEY SHARE
)
INSERT INTO groups (queue, name, slots, next_at)
SELECT q.id, '', 2147483647, now() FROM q WHERE NOT EXISTS (SELECT 1 FROM group_names g WHERE g.queue = q.id AND g.name = '')
ON CONFLICT DO NOTHING
