-- Which duties of a sweep have something to do: $1 how long a redrive is remembered, in seconds, $2 the count's delta and $3 the usage's after which to look. One look in place of one for each, of which nearly all would find nothing. The conditions are
-- those of the duties: wakes_queues, follows_lock, sweep_last_tries, sweep_publish_keys, sweep_request_keys, sweep_redrives, sweep_dead_senders, sweep_waiting. Deltas behind the mark are not looked for.
SELECT EXISTS (SELECT 1 FROM wakes), EXISTS (SELECT 1 FROM follows),
  EXISTS (SELECT 1 FROM messages WHERE leased AND dead_at IS NULL AND (gid IS NOT NULL OR receives >= max_receives) AND vis <= now() AND receives >= max_receives),
  EXISTS (SELECT 1 FROM publish_keys WHERE expires_at <= now()), EXISTS (SELECT 1 FROM request_keys WHERE expires_at <= now()),
  EXISTS (SELECT 1 FROM redrives WHERE finished_at < now() - $1::float8 * interval '1 s'),
  EXISTS (SELECT 1 FROM messages m JOIN groups g ON g.id = ANY (ARRAY[m.gid]) AND g.disabled WHERE m.queue = 1 AND m.receipt_open AND NOT m.leased AND m.dead_at IS NULL AND m.vis <= now()),
  EXISTS (SELECT 1 FROM endpoints e JOIN groups g ON g.id = ANY (ARRAY[e.id]) WHERE e.deleted_at IS NOT NULL AND g.next_at IS NOT NULL),
  coalesce((SELECT id FROM count_deltas WHERE id > $2 ORDER BY id LIMIT 1), (SELECT id FROM usage_deltas WHERE id > $3 ORDER BY id LIMIT 1)) IS NOT NULL
