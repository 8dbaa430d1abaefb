-- $1 queue. Each count is exact up to 10,000 by a bounded range of an index. The three states are those of queue.Row.Status. Then the age of the oldest, from
-- where to look for it the next time, and how many rows of all queues the database has not cleaned up.
SELECT s.total, s.flying, s.delayed,
  (SELECT count(*) FROM (SELECT 1 FROM messages WHERE source_queue = $1 AND dead_at IS NOT NULL LIMIT 10001) d),
  coalesce((SELECT greatest(0, extract(epoch FROM now() - published_at)) FROM messages WHERE id = s.oldest), 0)::float8,
  coalesce(s.oldest, (SELECT last_value FROM message_seq)), pg_stat_get_dead_tuples('messages'::regclass)
FROM (
  SELECT min(id) AS oldest, count(*) AS total, count(*) FILTER (WHERE flying) AS flying, count(*) FILTER (WHERE NOT flying AND vis > now()) AS delayed
  FROM (SELECT id, vis, leased AND (vis > now() OR dead_at IS NULL AND max_receives <> 32767 AND receives >= max_receives) AS flying
        FROM messages WHERE queue = $1 AND queue > 0 ORDER BY id LIMIT 10001) m) s
