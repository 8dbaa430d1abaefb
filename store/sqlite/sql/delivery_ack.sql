-- it has no body
DELETE FROM messages WHERE id = ? RETURNING gid, leased
