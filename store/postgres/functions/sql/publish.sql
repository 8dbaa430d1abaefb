-- A text with its length before it, so that no two lists of texts are one.
CREATE OR REPLACE FUNCTION onceward_part(t text) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT AS $$
  SELECT int4send(octet_length(convert_to(t, 'UTF8'))) || convert_to(t, 'UTF8')
$$;

-- The hash by which a publish is known again, as package queue makes it (Publish.SetKey).
CREATE OR REPLACE FUNCTION onceward_publish_hash(p_canonical text, p_delay float8, p_priority int, p_headers jsonb, p_group text, p_origin timestamptz) RETURNS bytea
LANGUAGE sql IMMUTABLE AS $$
  SELECT sha256('\x01'::bytea || int8send(round(p_delay * 1000000)::bigint) || set_byte('\x00', 0, p_priority) || onceward_part(coalesce(p_group, ''))
    || int8send(coalesce((extract(epoch FROM p_origin) * 1000000)::bigint, -1))
    || (SELECT int4send(count(*)::int) || coalesce(string_agg(onceward_part(key) || onceward_part(value), '' ORDER BY key COLLATE "C"), '') FROM jsonb_each_text(coalesce(p_headers, '{}')))
    || convert_to(p_canonical, 'UTF8'))
$$;

-- Publishes a message inside this transaction, and answers its id. The rules, limits and defaults are those of POST /v1/queue/publish, whose names its
-- arguments have. Under an idempotency_key that is known the same message gets the first one's id. What is refused is an error, and stores nothing: SQLSTATE OW400 (an
-- argument), OW402 (the project's credit limit is used up), OW404 (no such queue or project), OW409 (the key was used for another message), OW413 (the payload is too large).
CREATE OR REPLACE FUNCTION onceward_publish(
  queue text, payload json, idempotency_key text DEFAULT NULL, delay_seconds float8 DEFAULT 0, priority int DEFAULT 0, headers jsonb DEFAULT NULL,
  message_group_id text DEFAULT NULL, origin_at timestamptz DEFAULT NULL, project text DEFAULT 'default') RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  body bytea := convert_to(payload::text, 'UTF8');
  wrong text;
  number bigint := onceward_project(project);
  form text;
  hash bytea;
  r record;
BEGIN
  delay_seconds := coalesce(delay_seconds, 0);
  priority := coalesce(priority, 0);
  wrong := CASE
    WHEN payload IS NULL THEN 'payload is required: any JSON; for JSON''s own null say ''null''::json'
    WHEN NOT coalesce(delay_seconds BETWEEN 0 AND 604800, false) THEN format('delay_seconds is %s; it must be 0 to 604800', delay_seconds)
    WHEN priority NOT BETWEEN 0 AND 9 THEN format('priority is %s; it must be 0 to 9', priority)
    WHEN NOT coalesce(origin_at >= '1970-01-01Z' AND origin_at < '10000-01-01Z', true) THEN format('origin_at is %s; it must be a time since 1970, of a year of four digits', origin_at)
    WHEN message_group_id !~ '^[ -~]{1,128}$' THEN 'message_group_id is not 1 to 128 printable ASCII characters'
    WHEN idempotency_key !~ '^[ -~]{1,255}$' THEN 'the idempotency key is not 1 to 255 printable ASCII characters'
    WHEN jsonb_typeof(headers) <> 'object' THEN 'headers is not an object of texts'
    WHEN EXISTS (SELECT 1 FROM jsonb_each(headers) h WHERE jsonb_typeof(h.value) <> 'string') THEN 'headers has a value that is not a text'
    WHEN (SELECT count(*) FROM jsonb_object_keys(headers)) > 20 THEN format('headers has %s members; at most 20', (SELECT count(*) FROM jsonb_object_keys(headers)))
    WHEN (SELECT sum(octet_length(h.key) + octet_length(h.value)) FROM jsonb_each_text(headers) h) > 8192
      THEN format('headers has %s bytes of names and values; at most 8192', (SELECT sum(octet_length(h.key) + octet_length(h.value)) FROM jsonb_each_text(headers) h)) END;
  IF wrong IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'OW400', MESSAGE = wrong;
  END IF;
  IF octet_length(body) > 262144 THEN
    RAISE EXCEPTION USING ERRCODE = 'OW413', MESSAGE = format('the payload has %s bytes; the limit is 262144', octet_length(body)), HINT = 'store the content elsewhere and publish its id';
  END IF;
  form := onceward_canonical(payload);
  hash := onceward_publish_hash(form, delay_seconds, priority, headers, message_group_id, origin_at);
  LOOP
    r := onceward_tx_publish(number, CASE WHEN queue ~ '^[A-Za-z0-9-][A-Za-z0-9._-]{0,79}$' THEN queue ELSE '' END, body, CASE WHEN headers <> '{}' THEN headers::text ELSE '' END,
      delay_seconds, priority, coalesce(message_group_id, ''), coalesce(origin_at, '0001-01-01Z'), coalesce(idempotency_key, ''), hash);
    EXIT WHEN r.what <> 'content';
    idempotency_key := E'\x01payload:' || encode(sha256(convert_to(form, 'UTF8')), 'hex'); -- as queue.Publish.ByContent has it
  END LOOP;
  CASE r.what
  WHEN 'order' THEN
    RAISE EXCEPTION USING ERRCODE = 'OW400', MESSAGE = CASE WHEN message_group_id IS NULL THEN format('message_group_id is required: queue %s is fifo, and its order is that within a group', quote_ident(queue))
      ELSE format('priority is %s; queue %s is fifo, where the order of publishing decides', priority, quote_ident(queue)) END;
  WHEN 'credit' THEN
    RAISE EXCEPTION USING ERRCODE = 'OW402', MESSAGE = format('the message costs %s USD, and the project''s credit has less left', trim_scale(r.cost / 1000000000.0)),
      HINT = 'GET /v1/account/balance shows it; a key of scope root raises it: PATCH /v1/projects/{id}';
  WHEN 'queue' THEN
    RAISE EXCEPTION USING ERRCODE = 'OW404', MESSAGE = format('there is no queue %s', coalesce(quote_ident(queue), 'NULL')), HINT = 'POST /v1/queue/create makes one';
  WHEN 'delay' THEN
    RAISE EXCEPTION USING ERRCODE = 'OW400', MESSAGE = format('delay_seconds is %s; it must be below the retention of queue %s, which is %s', delay_seconds, quote_ident(queue), r.retention);
  WHEN 'known' THEN
    IF r.first_hash <> hash THEN
      RAISE EXCEPTION USING ERRCODE = 'OW409', MESSAGE = format('the idempotency key %s was used in queue %s for another message', quote_literal(idempotency_key), quote_ident(queue)),
        HINT = 'a key stands for one message: make a new key for a new one, or send the first one again';
    END IF;
  ELSE
  END CASE;
  RETURN onceward_id('qmsg_', number, r.message);
END $$;
