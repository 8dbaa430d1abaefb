-- $1 limit. Seconds that are over count nothing any more.
WITH p AS (
  SELECT queue, kind, due_s FROM counts
  WHERE kind IN ('l', 'd') AND due_s < extract(epoch FROM now())::bigint - 60 OR kind IN ('t', 'x') AND n = 0 LIMIT $1
)
DELETE FROM counts c USING p WHERE c.queue = p.queue AND c.kind = p.kind AND c.due_s = p.due_s
