-- $1 limit. Adds deltas to the sums, by whoever has the lock.
WITH d AS (
  DELETE FROM usage_deltas WHERE id = ANY (ARRAY(SELECT id FROM usage_deltas ORDER BY id LIMIT $1)) RETURNING project, day, messages, cost
), s AS (
  INSERT INTO usage_days AS t (project, day, messages, cost) SELECT project, day, sum(messages), sum(cost) FROM d GROUP BY 1, 2
  ON CONFLICT (project, day) DO UPDATE SET messages = t.messages + excluded.messages, cost = t.cost + excluded.cost
), p AS MATERIALIZED (
  SELECT p.id, (SELECT sum(cost) FROM d WHERE d.project = p.id) AS cost FROM projects p WHERE p.id IN (SELECT project FROM d) ORDER BY p.id FOR NO KEY UPDATE
)
UPDATE projects t SET spent = t.spent + p.cost FROM p WHERE t.id = p.id
