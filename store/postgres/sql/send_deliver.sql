-- Deliveries with their claims and messages, for endpoints whose groups are locked: $1 event, $2 endpoint, $3 the claim's hash, $4 a tick of its group.
-- An endpoint that was deleted meanwhile gets nothing. What a delivery keeps of its endpoint is copied here. Their ids are in the order given: the join's
-- own depends on where rows lie, other projects' too.
WITH f AS MATERIALIZED (
  SELECT u.event, u.endpoint, u.hash, u.tick, e.project, e.policy, e.window_s, e.ladder,
    nextval('claim_seq') AS claim, nextval('message_seq') AS message
  FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[]) WITH ORDINALITY u(event, endpoint, hash, tick, n)
  JOIN endpoints e ON e.id = u.endpoint AND e.deleted_at IS NULL ORDER BY u.n
), c AS (
  INSERT INTO delivery_claims (id, kind, project, hash, policy, state, max_tries, window_s, message_id)
  SELECT claim, 'd', project, hash, policy, 'new', cardinality(ladder) + 1, window_s, message FROM f
), d AS (
  INSERT INTO deliveries (project, event, endpoint, claim_id, ladder) SELECT project, event, endpoint, claim, ladder FROM f
  RETURNING id, event, endpoint
), m AS (
  INSERT INTO messages (id, project, queue, gid, max_receives, vis, expires_at, retention_s, claim_id)
  SELECT message, f.project, q.id, endpoint, q.max_receives, now(), now() + q.retention_s * interval '1 s', q.retention_s, claim
  FROM f, queues q WHERE q.id = 1
), g AS (
  UPDATE groups g SET next_at = least(next_at, now()), wake_xid = pg_current_xact_id(), tick = greatest(g.tick, group_tick())
  FROM (SELECT endpoint, min(tick) AS tick FROM f GROUP BY endpoint) u WHERE g.id = u.endpoint AND g.tick >= u.tick
)
SELECT id, event, endpoint FROM d ORDER BY id
