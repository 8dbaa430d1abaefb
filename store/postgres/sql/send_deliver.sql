-- Deliveries with their claims and messages, for endpoints whose groups are locked: $1 event, $2 endpoint, $3 the claim's hash, $4 a tick of its group.
-- An endpoint that was deleted meanwhile gets nothing. What a delivery keeps of its endpoint is copied here. Their ids are in the order given: the join's
-- own depends on where rows lie, other projects' too.
-- What begins with --r is put in, and what ends with --n left out, where a worker waits for deliveries (send_ride.go): $5 which of the deliveries to its endpoint each
-- is, $6 the most of an endpoint that may be in flight, $7 grant_id, $8 owner, $9 slack_s. An endpoint of which nothing waits has as many handed out as it has free
-- slots: claim and message are as a take would leave them.
WITH f AS MATERIALIZED (
  SELECT u.event, u.endpoint, u.hash, u.tick, e.project, e.policy, e.window_s, e.ladder,
--r NOT g.disabled AND coalesce(g.next_at > now(), true) AND u.turn <= least(g.slots, $6) - g.in_flight AS taken, g.hold_s, g.hold_s * interval '1 s' + $9::float8 * interval '1 s' AS lease,
    nextval('claim_seq') AS claim, nextval('message_seq') AS message
  FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[]) WITH ORDINALITY u(event, endpoint, hash, tick, n) --n
--r FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[], $5::int[]) WITH ORDINALITY u(event, endpoint, hash, tick, turn, n) JOIN groups g ON g.id = ANY (ARRAY[u.endpoint]) AND g.tick >= u.tick
  JOIN endpoints e ON e.id = u.endpoint AND e.deleted_at IS NULL ORDER BY u.n
), c AS (
  INSERT INTO delivery_claims (id, kind, project, hash, policy, max_tries, window_s, message_id, state) --n
  SELECT claim, 'd', project, hash, policy, cardinality(ladder) + 1, window_s, message, 'new' FROM f --n
--r INSERT INTO delivery_claims (id, kind, project, hash, policy, max_tries, window_s, message_id, state, fence, begun, attempt, tries, grant_id, owner, lease_until, first_at, lease_no)
--r SELECT claim, 'd', project, hash, policy, cardinality(ladder) + 1, window_s, message,
--r   CASE WHEN NOT taken THEN 'new' WHEN policy = 'o' THEN 'claimed' ELSE 'started' END, taken::int, (taken AND policy <> 'o')::int, taken::int, taken::int,
--r   CASE WHEN taken THEN $7 END, CASE WHEN taken THEN $8 END, CASE WHEN taken THEN now() + lease END, CASE WHEN taken AND policy <> 'o' THEN now() END, taken::int FROM f
), d AS (
  INSERT INTO deliveries (project, event, endpoint, claim_id, ladder) SELECT project, event, endpoint, claim, ladder FROM f
  RETURNING id, event, endpoint
), m AS (
  INSERT INTO messages (id, project, queue, gid, max_receives, expires_at, retention_s, claim_id, vis) --n
  SELECT message, f.project, q.id, endpoint, q.max_receives, now() + q.retention_s * interval '1 s', q.retention_s, claim, now() --n
--r INSERT INTO messages (id, project, queue, gid, max_receives, expires_at, retention_s, claim_id, vis, leased, receipt_open, receives, lease_no, received_at)
--r SELECT message, f.project, q.id, endpoint, q.max_receives, now() + q.retention_s * interval '1 s', q.retention_s, claim,
--r   CASE WHEN taken THEN now() + lease ELSE now() END, taken, taken, taken::int, taken::int, CASE WHEN taken THEN now() END
  FROM f, queues q WHERE q.id = 1
), g AS (
  UPDATE groups g SET wake_xid = pg_current_xact_id(), tick = greatest(g.tick, group_tick()),
    next_at = least(next_at, now()) --n
--r next_at = CASE WHEN rest > 0 THEN least(next_at, now()) ELSE next_at END, in_flight = in_flight + u.taken
  FROM (SELECT endpoint, min(tick) AS tick
--r   , count(*) FILTER (WHERE taken) AS taken, count(*) FILTER (WHERE NOT taken) AS rest
    FROM f GROUP BY endpoint) u WHERE g.id = ANY (ARRAY[u.endpoint]) AND g.tick >= u.tick
)
SELECT id, event, endpoint FROM d ORDER BY id --n
--r SELECT d.id, d.event, d.endpoint, f.taken, f.claim, f.message, f.project, f.hold_s, CASE f.policy WHEN 'o' THEN 'once' ELSE 'idempotent' END, f.ladder
--r FROM d JOIN f ON f.event = d.event AND f.endpoint = d.endpoint ORDER BY d.id
