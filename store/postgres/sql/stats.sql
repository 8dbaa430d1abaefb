-- $1 queue. Each count is exact up to 10,000 by a bounded range of an index. The three states are those of queue.Row.Status.
SELECT s.total, s.flying, s.delayed,
  (SELECT count(*) FROM (SELECT 1 FROM messages WHERE source_queue = $1 AND dead_at IS NOT NULL LIMIT 10001) d),
  coalesce((SELECT greatest(0, extract(epoch FROM now() - published_at)) FROM messages WHERE queue = $1 ORDER BY id LIMIT 1), 0)::float8
FROM (
  SELECT count(*) AS total, count(*) FILTER (WHERE flying) AS flying, count(*) FILTER (WHERE NOT flying AND vis > now()) AS delayed
  FROM (SELECT vis, leased AND (vis > now() OR dead_at IS NULL AND max_receives <> 32767 AND receives >= max_receives) AS flying
        FROM messages WHERE queue = $1 ORDER BY id LIMIT 10001) m) s
