-- $1 after this id, $2 rows to look at: how far it was looked, how many, and the messages of them whose retention is over and that are not in flight. A delivery's ladder may be
-- longer than that: it must have been due for so long, and one that a dead sender had is due since then.
SELECT coalesce(max(id), 0), count(*),
       coalesce(array_agg(id ORDER BY id) FILTER (WHERE expires_at <= now() AND (NOT leased OR vis <= now())
         AND (queue <> 1 OR greatest(vis, received_at) + retention_s * interval '1 s' <= now())), '{}')
FROM (SELECT id, queue, expires_at, leased, vis, received_at, retention_s FROM messages WHERE id > $1 ORDER BY id LIMIT $2) p
