-- messages in flight, of an endpoint
DELETE FROM messages WHERE id IN (SELECT value FROM json_each(?)) AND gid = +? AND leased = 1
