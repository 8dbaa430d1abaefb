-- a message in flight, of an endpoint
DELETE FROM messages WHERE id = ? AND gid = +? AND leased = 1
