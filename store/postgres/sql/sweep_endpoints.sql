-- Deleted endpoints of which nothing is left: $1 limit
WITH g AS MATERIALIZED (
  SELECT e.id FROM endpoints e
  WHERE e.deleted_at < now() - interval '1 hour' AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.endpoint = e.id)
    AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.gid = e.id)
    AND (SELECT m.id FROM messages m WHERE m.source_gid = e.id AND m.dead_at IS NOT NULL LIMIT 1) IS NULL
  ORDER BY e.id LIMIT $1 FOR UPDATE OF e SKIP LOCKED
), d AS (
  DELETE FROM groups WHERE id IN (SELECT id FROM g)
)
DELETE FROM endpoints WHERE id IN (SELECT id FROM g)
