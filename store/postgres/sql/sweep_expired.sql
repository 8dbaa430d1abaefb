-- $1 after this id, $2 rows to look at: how far it was looked, how many, and the messages of them whose retention is over and that are not in flight
SELECT coalesce(max(id), 0), count(*),
       coalesce(array_agg(id ORDER BY id) FILTER (WHERE expires_at <= now() AND (NOT leased OR vis <= now())), '{}')
FROM (SELECT id, expires_at, leased, vis FROM messages WHERE id > $1 ORDER BY id LIMIT $2) p
