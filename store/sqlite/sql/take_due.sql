-- when there may next be something to take: a group's turn, or the end of a lease whose worker may be dead
SELECT min(at) FROM (
  SELECT min(next_at) AS at FROM groups WHERE queue = 1 AND NOT disabled AND in_flight < slots AND next_at IS NOT NULL
  UNION ALL SELECT min(vis) FROM messages WHERE queue = 1 AND leased = 1)
