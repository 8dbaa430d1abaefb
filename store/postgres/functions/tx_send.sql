-- Sends one event inside the caller's transaction. Empty text is none; p_endpoints is an array written as text, empty for every subscriber. p_key is its Idempotency-Key,
-- p_key_hash what makes its request the same again.
-- A row for each delivery, or one without. What became of it: stored, known (the first answer, whose event may have another id; with its hash, which is another
-- where the event_id was used for other content), endpoint or tenant (the endpoint at place n is not there, or of another tenant), key (it was used for another request). Locks what stands in nobody's way: the endpoints against being forgotten, the event's id, and the key.
CREATE OR REPLACE FUNCTION onceward_tx_send(
  p_project bigint, p_event text, p_type text, p_tenant text, p_subject text, p_endpoints text, p_hash bytea, p_payload bytea, p_key text DEFAULT '', p_key_hash bytea DEFAULT NULL)
RETURNS TABLE (what text, created timestamptz, first_hash bytea, place int, delivery bigint, endpoint bigint, event text)
LANGUAGE plpgsql AS $$
DECLARE
  c_scope constant text := 'POST /v1/webhooks/events';
  v_named bigint[] := nullif(p_endpoints, '')::bigint[];
  v_patterns text[] := ARRAY['*', p_type] || ARRAY(SELECT left(p_type, i) || '*' FROM generate_series(1, length(p_type)) i WHERE substr(p_type, i, 1) = '.');
  v_event bigint;
  v_to bigint[];
  v_known record;
BEGIN
  what := 'stored';
  created := now();
  first_hash := '';
  place := 0;
  delivery := 0;
  endpoint := 0;
  event := p_event;
  PERFORM pg_advisory_xact_lock_shared(1801812339, s) FROM (SELECT DISTINCT hashtext(k) & 1023 AS s FROM unnest(ARRAY[p_event, nullif(p_key, '')]) k WHERE k IS NOT NULL ORDER BY s) slots;
  WHILE p_key <> '' LOOP
    INSERT INTO request_keys AS t (project, scope, key, hash, expires_at) VALUES (p_project, c_scope, p_key, p_key_hash, now() + interval '24 h')
    ON CONFLICT ON CONSTRAINT request_keys_pkey DO UPDATE SET hash = excluded.hash, answer = NULL, event = NULL, expires_at = excluded.expires_at WHERE t.expires_at <= now();
    EXIT WHEN FOUND;
    SELECT k.hash, k.event INTO v_known FROM request_keys k WHERE k.project = p_project AND k.scope = c_scope AND k.key = p_key COLLATE "C" AND k.expires_at > now();
    IF FOUND AND (v_known.hash <> p_key_hash OR v_known.event IS NULL) THEN
      what := 'key';
      RETURN NEXT;
      RETURN;
    ELSIF FOUND THEN
      RETURN QUERY SELECT 'known', e.created_at, e.hash, 0, coalesce(d.id, 0), coalesce(d.endpoint, 0), e.event_id FROM events e LEFT JOIN deliveries d ON d.event = e.id
        WHERE e.id = v_known.event ORDER BY d.id;
      RETURN;
    END IF; -- else it was swept in this moment: it is free
  END LOOP;
  LOOP
    SELECT e.id, e.hash, e.created_at INTO v_known FROM events e WHERE e.project = p_project AND e.event_id = p_event COLLATE "C";
    IF FOUND AND v_known.hash <> p_hash THEN
      what := 'known';
      first_hash := v_known.hash;
      EXIT;
    ELSIF FOUND THEN
      what := 'known';
      v_event := v_known.id;
      created := v_known.created_at;
      EXIT;
    END IF;
    SELECT CASE WHEN e.id IS NULL THEN 'endpoint' ELSE 'tenant' END, u.n::int - 1, u.id INTO what, place, endpoint
      FROM unnest(v_named) WITH ORDINALITY u(id, n) LEFT JOIN endpoints e ON e.id = u.id AND e.project = p_project AND e.deleted_at IS NULL
      WHERE e.id IS NULL OR coalesce(e.tenant, '') <> p_tenant ORDER BY u.n LIMIT 1;
    EXIT WHEN FOUND;
    what := 'stored';
    place := 0;
    endpoint := 0;
    INSERT INTO events (project, event_id, type, tenant, subject, hash, payload)
    VALUES (p_project, p_event, p_type, nullif(p_tenant, ''), nullif(p_subject, ''), p_hash, p_payload)
    ON CONFLICT DO NOTHING RETURNING id, created_at INTO v_event, created;
    EXIT WHEN FOUND; -- else whoever had it has committed: look again
  END LOOP;
  IF p_key <> '' AND v_event IS NULL THEN
    DELETE FROM request_keys k WHERE k.project = p_project AND k.scope = c_scope AND k.key = p_key COLLATE "C";
  ELSIF p_key <> '' THEN
    UPDATE request_keys k SET event = v_event WHERE k.project = p_project AND k.scope = c_scope AND k.key = p_key COLLATE "C";
  END IF;
  IF v_event IS NULL THEN
    RETURN NEXT;
    RETURN;
  ELSIF what = 'known' THEN
    RETURN QUERY SELECT what, created, p_hash, 0, coalesce(d.id, 0), coalesce(d.endpoint, 0), p_event FROM (SELECT) one LEFT JOIN deliveries d ON d.event = v_event ORDER BY d.id;
    RETURN;
  END IF;
  IF v_named IS NOT NULL THEN
    v_to := v_named;
  ELSIF p_tenant <> '' THEN
    v_to := ARRAY(SELECT p.id FROM endpoints p WHERE p.project = p_project AND p.tenant = p_tenant COLLATE "C" AND p.deleted_at IS NULL AND p.event_types && v_patterns);
  ELSE
    v_to := ARRAY(SELECT p.id FROM endpoints p WHERE p.project = p_project AND p.tenant IS NULL AND p.deleted_at IS NULL AND p.event_types && v_patterns);
  END IF;
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
  SELECT what, created, ''::bytea, 0, d.id, d.endpoint, p_event FROM d ORDER BY d.id;
  IF NOT FOUND THEN
    RETURN NEXT;
  END IF;
END $$
