-- when the next lease of a group's message is over: its slot comes back. Those of the ungrouped are in plain_next.sql.
SELECT min(vis) FROM messages INDEXED BY messages_leased WHERE queue = ?1 AND leased = 1 AND gid IS NOT NULL
