-- Redrives that were over long ago, with their parts: $1 limit, $2 since when
WITH old AS MATERIALIZED (
  SELECT id FROM redrives WHERE finished_at < $2 ORDER BY finished_at LIMIT $1 FOR UPDATE SKIP LOCKED
), p AS (
  DELETE FROM redrive_parts WHERE redrive IN (SELECT id FROM old)
)
DELETE FROM redrives WHERE id IN (SELECT id FROM old)
