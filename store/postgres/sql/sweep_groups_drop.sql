-- $1 groups that this transaction has locked; looked at again with a snapshot of after the lock: a publish that comes later finds no group
DELETE FROM groups g WHERE g.id = ANY ($1::bigint[]) AND g.in_flight = 0 AND (SELECT m.id FROM messages m WHERE m.gid = g.id AND NOT m.leased LIMIT 1) IS NULL
  AND (SELECT m.id FROM messages m WHERE m.source_gid = g.id AND m.dead_at IS NOT NULL LIMIT 1) IS NULL
  AND (g.name <> '' OR NOT EXISTS (SELECT 1 FROM group_names o WHERE o.queue = g.queue AND o.name <> ''))
