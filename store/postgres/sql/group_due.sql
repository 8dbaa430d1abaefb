-- $1 queue, $2 the turn at which to begin: whether some group has its turn. Of a receive that got nothing it says that somebody else had them locked.
SELECT EXISTS (SELECT 1 FROM groups WHERE queue = $1 AND runnable AND next_at <= now() AND next_at >= $2 AND name <> '')
