-- Sends one event inside the caller's transaction. Empty text is none; p_endpoints is an array written as text, empty for every subscriber.
-- A row for each delivery, or one without. What became of it: stored, known (with the first answer and its hash), endpoint or tenant
-- (the endpoint at place n is not there, or of another tenant). Locks what stands in nobody's way: the endpoints against being forgotten, and the event's id.
CREATE OR REPLACE FUNCTION onceward_tx_send(
  p_project bigint, p_event text, p_type text, p_tenant text, p_subject text, p_endpoints text, p_hash bytea, p_payload bytea)
RETURNS TABLE (what text, created timestamptz, first_hash bytea, place int, delivery bigint, endpoint bigint)
LANGUAGE plpgsql AS $$
DECLARE
  v_named bigint[] := nullif(p_endpoints, '')::bigint[];
  v_patterns text[] := ARRAY['*', p_type] || ARRAY(SELECT left(p_type, i) || '*' FROM generate_series(1, length(p_type)) i WHERE substr(p_type, i, 1) = '.');
  v_event bigint;
  v_to bigint[];
BEGIN
  PERFORM pg_advisory_xact_lock_shared(1801812339, hashtext(p_event) & 1023);
  LOOP
    RETURN QUERY SELECT 'known', e.created_at, e.hash, 0, coalesce(d.id, 0), coalesce(d.endpoint, 0) FROM events e LEFT JOIN deliveries d ON d.event = e.id
      WHERE e.project = p_project AND e.event_id = p_event COLLATE "C" ORDER BY d.id;
    IF FOUND THEN RETURN; END IF;
    RETURN QUERY SELECT CASE WHEN e.id IS NULL THEN 'endpoint' ELSE 'tenant' END, now(), ''::bytea, u.n::int - 1, 0::bigint, u.id
      FROM unnest(v_named) WITH ORDINALITY u(id, n) LEFT JOIN endpoints e ON e.id = u.id AND e.project = p_project AND e.deleted_at IS NULL
      WHERE e.id IS NULL OR coalesce(e.tenant, '') <> p_tenant ORDER BY u.n LIMIT 1;
    IF FOUND THEN RETURN; END IF;
    INSERT INTO events (project, event_id, type, tenant, subject, hash, payload)
    VALUES (p_project, p_event, p_type, nullif(p_tenant, ''), nullif(p_subject, ''), p_hash, p_payload)
    ON CONFLICT DO NOTHING RETURNING id, created_at INTO v_event, created;
    EXIT WHEN FOUND; -- else whoever had it has committed: look again
  END LOOP;
  IF v_named IS NOT NULL THEN
    v_to := v_named;
  ELSIF p_tenant <> '' THEN
    v_to := ARRAY(SELECT p.id FROM endpoints p WHERE p.project = p_project AND p.tenant = p_tenant COLLATE "C" AND p.deleted_at IS NULL AND p.event_types && v_patterns);
  ELSE
    v_to := ARRAY(SELECT p.id FROM endpoints p WHERE p.project = p_project AND p.tenant IS NULL AND p.deleted_at IS NULL AND p.event_types && v_patterns);
  END IF;
  what := 'stored';
  place := 0;
  RETURN QUERY WITH e AS MATERIALIZED (
    SELECT p.id, p.policy, p.window_s, p.ladder FROM endpoints p WHERE p.id = ANY (v_to) AND p.deleted_at IS NULL ORDER BY p.id FOR KEY SHARE
  ), f AS MATERIALIZED (
    SELECT e.*, nextval('claim_seq') AS claim, nextval('message_seq') AS message FROM e ORDER BY e.id
  ), c AS (
    INSERT INTO delivery_claims (id, kind, project, hash, policy, state, max_tries, window_s, message_id)
    SELECT f.claim, 'd', p_project, onceward_key_hash(p_project, 'webhook', f.id::text, p_event, '1'), f.policy, 'new', cardinality(f.ladder) + 1, f.window_s, f.message FROM f
  ), d AS (
    INSERT INTO deliveries AS t (project, event, endpoint, claim_id, ladder) SELECT p_project, v_event, f.id, f.claim, f.ladder FROM f ORDER BY f.id
    RETURNING t.id, t.endpoint
  ), m AS (
    INSERT INTO messages (id, project, queue, gid, max_receives, vis, expires_at, retention_s, claim_id)
    SELECT f.message, p_project, q.id, -1, q.max_receives, now(), now() + q.retention_s * interval '1 s', q.retention_s, f.claim FROM f, queues q WHERE q.id = 1
  ), w AS (
    INSERT INTO wakes (queue, name, message) SELECT 1, f.id::text, f.message FROM f ORDER BY f.id
  )
  SELECT what, created, ''::bytea, 0, d.id, d.endpoint FROM d ORDER BY d.id;
  IF NOT FOUND THEN
    delivery := 0;
    endpoint := 0;
    RETURN NEXT;
  END IF;
END $$
