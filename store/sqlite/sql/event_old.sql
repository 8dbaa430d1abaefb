-- Ids grow with time, so the old ones come first. The rule is that of event_younger.sql.
SELECT id, EXISTS (SELECT 1 FROM deliveries d JOIN claims c ON c.id = d.claim_id
  WHERE d.event = e.id AND coalesce(c.finished_at, d.cancelled_at, ?3 + 1) > ?3)
FROM (SELECT id, created_at FROM events WHERE id > ?1 ORDER BY id LIMIT ?2) e WHERE created_at <= ?3 ORDER BY id
