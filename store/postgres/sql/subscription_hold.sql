-- $1 owner, $2 for how long, in seconds, $3 at most so many more at a time, so that servers share: holds again what is half over, and takes what nobody holds;
-- then all that the owner holds.
WITH m AS MATERIALIZED (
  SELECT id FROM subscriptions WHERE holder = $1 AND held_until < now() + $2::float8 / 2 * interval '1 s' ORDER BY id FOR UPDATE SKIP LOCKED
), n AS MATERIALIZED (
  SELECT id FROM subscriptions WHERE holder IS DISTINCT FROM $1 AND (held_until IS NULL OR held_until < now()) ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED
), u AS (
  UPDATE subscriptions s SET holder = $1, held_until = now() + $2::float8 * interval '1 s'
  WHERE s.id IN (SELECT id FROM m UNION ALL SELECT id FROM n) RETURNING s.id
)
SELECT s.id, s.project, s.url, s.secret, s.timeout_s, s.max_in_flight, s.created_at, q.name FROM subscriptions s JOIN queues q ON q.id = s.queue
WHERE s.holder = $1 AND s.held_until > now() OR s.id IN (SELECT id FROM u) ORDER BY s.id
