-- $1 limit, $2 the end of a lease at which to begin ('-infinity': a full look). Grouped leases that ran out, with receives left: the group's slot comes back and the receipt stays open. A group has its turn no sooner than now, where looks from the mark of turns see it. Sent in front of each
-- grouped receive (two index probes when there is nothing), so that no sweep stands between. The rule is queue.Row.Lapse. Answers up to which end no lease is left, which is now or that of the
-- first which was locked or past the limit; the queues and how many of each; and how long the statement took.
-- Its first condition is that of the partial index, word for word: without it the planner does not take it.
WITH e AS MATERIALIZED (
  SELECT id, gid, vis, CASE WHEN queue = 1 THEN published_at ELSE vis END AS due -- a dead sender's delivery goes before what waits for its endpoint
  FROM messages
  WHERE leased AND dead_at IS NULL AND (gid IS NOT NULL OR receives >= max_receives) AND vis >= $2 AND vis <= now() AND gid IS NOT NULL AND receives < max_receives
  ORDER BY vis LIMIT $1 FOR UPDATE SKIP LOCKED
), u AS (
  UPDATE messages m SET leased = false, vis = e.due FROM e WHERE m.id = ANY (ARRAY[e.id]) RETURNING m.queue
), l AS MATERIALIZED (
  SELECT g.id, n.freed, n.due FROM groups g JOIN (SELECT gid, count(*) AS freed, min(due) AS due FROM e GROUP BY gid) n ON g.id = ANY (ARRAY[n.gid])
  ORDER BY n.gid FOR UPDATE OF g
), gu AS (
  UPDATE groups g SET in_flight = g.in_flight - l.freed, wake_xid = pg_current_xact_id(), tick = greatest(g.tick, group_tick()),
    next_at = CASE WHEN g.in_flight >= g.slots THEN now() ELSE least(g.next_at, now()) END, low = least(g.low, g.next_at, l.due)
  FROM l WHERE g.id = ANY (ARRAY[l.id])
)
SELECT coalesce((
    SELECT vis FROM messages
    WHERE leased AND dead_at IS NULL AND (gid IS NOT NULL OR receives >= max_receives) AND vis >= $2 AND vis <= now() AND gid IS NOT NULL AND receives < max_receives
      AND id NOT IN (SELECT id FROM e)
    ORDER BY vis LIMIT 1), now()),
  coalesce(queue, 0), count(queue), extract(epoch FROM clock_timestamp() - statement_timestamp())::float8
FROM (SELECT) one LEFT JOIN u ON true GROUP BY queue
