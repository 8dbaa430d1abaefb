-- Which duties of a sweep have something to do: $1 how long a redrive is remembered, in seconds. One look in place of one for each, of which nearly all would find nothing. The conditions are
-- those of the duties: wakes_queues, follows_lock, sweep_publish_keys, sweep_request_keys, sweep_redrives, sweep_dead_senders, sweep_waiting.
SELECT EXISTS (SELECT 1 FROM wakes), EXISTS (SELECT 1 FROM follows),
  EXISTS (SELECT 1 FROM publish_keys WHERE expires_at <= now()), EXISTS (SELECT 1 FROM request_keys WHERE expires_at <= now()),
  EXISTS (SELECT 1 FROM redrives WHERE finished_at < now() - $1::float8 * interval '1 s'),
  EXISTS (SELECT 1 FROM messages m JOIN groups g ON g.id = m.gid AND g.disabled WHERE m.queue = 1 AND m.receipt_open AND NOT m.leased AND m.dead_at IS NULL AND m.vis <= now()),
  EXISTS (SELECT 1 FROM endpoints e JOIN groups g ON g.id = ANY (ARRAY[e.id]) WHERE e.deleted_at IS NOT NULL AND g.next_at IS NOT NULL)
