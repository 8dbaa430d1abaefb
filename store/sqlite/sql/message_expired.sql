-- One in flight outlives its retention until its lease ends. A delivery's ladder may be longer than that: it must have been due for so long, and one that a dead
-- sender had is due since then.
SELECT id FROM messages NOT INDEXED
WHERE id > ?1 AND id <= ?2 AND expires_at <= ?3 AND NOT (leased = 1 AND vis > ?3)
  AND (queue <> 1 OR max(vis, coalesce(received_at, 0)) + retention_s * 1e6 <= ?3) ORDER BY id LIMIT ?4
