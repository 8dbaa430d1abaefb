-- $1 limit, $2 the delta after which to look. Adds deltas to the counts, by whoever gets the lock; answers the last that it took.
WITH d AS (
  DELETE FROM count_deltas WHERE id = ANY (ARRAY(SELECT id FROM count_deltas WHERE id > $2 ORDER BY id LIMIT $1)) RETURNING id, queue, kind, due_s, n
), s AS (
  SELECT queue, kind, due_s, sum(n) AS n FROM d GROUP BY 1, 2, 3 HAVING sum(n) <> 0
), u AS (
  INSERT INTO counts AS c (queue, kind, due_s, n) SELECT * FROM s
  ON CONFLICT (queue, kind, due_s) DO UPDATE SET n = c.n + excluded.n
)
SELECT coalesce(max(id), 0) FROM d
