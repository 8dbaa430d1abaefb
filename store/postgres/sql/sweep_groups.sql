-- $1 after this id, $2 rows to look at: how far it was looked, how many, the fair groups that seem empty, the groups that have work
-- and do not know it, or whose visits pass by some, and those in whose queue no group '' is. The group '' of a queue seems empty when it is alone.
SELECT coalesce(max(id), 0), count(*),
  coalesce(array_agg(id ORDER BY id) FILTER (WHERE queue <> 1 AND in_flight = 0 AND NOT has AND (SELECT m.id FROM messages m WHERE m.source_gid = p.id AND m.dead_at IS NOT NULL LIMIT 1) IS NULL
    AND (name <> '' OR (SELECT o.id FROM group_names o WHERE o.queue = p.queue AND o.name <> '' LIMIT 1) IS NULL)), '{}'),
  coalesce(array_agg(id ORDER BY id) FILTER (WHERE has AND (next_at IS NULL OR place IS NULL AND (SELECT true FROM generate_series(0, 9) AS o(prio), LATERAL (SELECT m.id FROM messages m
    WHERE m.gid = p.id AND NOT m.leased AND m.prio = o.prio AND m.vis < least(p.low, p.next_at) LIMIT 1) l LIMIT 1))), '{}'),
  coalesce(array_agg(id ORDER BY id) FILTER (WHERE queue <> 1 AND place IS NULL AND name <> '' AND NOT EXISTS (SELECT 1 FROM group_names o WHERE o.queue = p.queue AND o.name = '')), '{}')
FROM (SELECT g.*, (SELECT m.id FROM messages m WHERE m.gid = g.id AND NOT m.leased LIMIT 1) IS NOT NULL AS has FROM groups g WHERE g.id > $1 ORDER BY g.id LIMIT $2) p
