-- $1 limit, $2 the delta after which to look. Adds deltas to the sums, by whoever has the lock; answers the last that it took.
WITH d AS (
  DELETE FROM usage_deltas WHERE id = ANY (ARRAY(SELECT id FROM usage_deltas WHERE id > $2 ORDER BY id LIMIT $1)) RETURNING id, project, day, messages, cost
), s AS (
  INSERT INTO usage_days AS t (project, day, messages, cost) SELECT project, day, sum(messages), sum(cost) FROM d GROUP BY 1, 2
  ON CONFLICT (project, day) DO UPDATE SET messages = t.messages + excluded.messages, cost = t.cost + excluded.cost
), p AS MATERIALIZED (
  SELECT p.id, (SELECT sum(cost) FROM d WHERE d.project = p.id) AS cost FROM projects p WHERE p.id IN (SELECT project FROM d) ORDER BY p.id FOR NO KEY UPDATE
), u AS (
  UPDATE projects t SET spent = t.spent + p.cost FROM p WHERE t.id = p.id
)
SELECT coalesce(max(id), 0) FROM d
