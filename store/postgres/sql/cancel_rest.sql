-- A deleted endpoint's group, which this transaction has locked, rests when nothing waits: $1 its id
UPDATE groups SET next_at = NULL WHERE id = $1 AND disabled AND NOT EXISTS (SELECT 1 FROM messages WHERE gid = $1 AND NOT leased)
