-- A page of events: $1 after this id, $2 rows, $3 memory_s. Old ones that nobody subscribed to are deleted.
WITH p AS MATERIALIZED (
  SELECT id, created_at FROM events WHERE id > $1 ORDER BY id LIMIT $2
), x AS (
  DELETE FROM events e USING p
  WHERE e.id = p.id AND p.created_at < now() - $3::float8 * interval '1 s' AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event = p.id)
  RETURNING e.id
)
SELECT coalesce(max(id), 0), count(*), (SELECT count(*) FROM x) FROM p
