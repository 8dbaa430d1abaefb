-- Sends an event inside this transaction, and answers its event_id. The rules, limits and defaults are those of POST /v1/webhooks/events, whose names its
-- arguments have. Under an idempotency_key that is known the same request gets the first one's event_id; under an event_id that is known the same event is the first one. What is refused is an error, and
-- stores nothing: SQLSTATE OW400 (an argument), OW404 (no such project), OW409 (the key was used for another request, the event_id for other content), OW413 (the payload is too large).
CREATE OR REPLACE FUNCTION onceward_send(
  event_type text, payload json, event_id text DEFAULT NULL, tenant text DEFAULT NULL, subject text DEFAULT NULL, endpoint_ids text[] DEFAULT NULL, project text DEFAULT 'default',
  idempotency_key text DEFAULT NULL)
RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  body bytea := convert_to(payload::text, 'UTF8');
  wrong text;
  number bigint := onceward_project(project);
  named bigint[];
  hash bytea;
  given text := coalesce(event_id, '');
  r record;
BEGIN
  IF event_id IS NULL THEN
    event_id := 'evt_' || onceward_base62(substr(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint << 16), 1, 6) || substr(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 1, 11), 24);
  END IF;
  wrong := CASE
    WHEN payload IS NULL THEN 'payload is required: any JSON; for JSON''s own null say ''null''::json'
    WHEN idempotency_key !~ '^[ -~]{1,255}$' THEN 'the idempotency key is not 1 to 255 printable ASCII characters'
    WHEN event_id !~ '^[A-Za-z0-9_-]{1,255}$' THEN 'event_id must be 1 to 255 of A-Za-z0-9_-'
    WHEN event_type IS NULL THEN 'event_type is required, like ticket.resolved'
    WHEN event_type !~ '^[A-Za-z0-9._-]{1,128}$' THEN 'event_type must be 1 to 128 of A-Za-z0-9._-'
    WHEN tenant !~ '^[A-Za-z0-9._-]{1,128}$' THEN 'tenant must be 1 to 128 of A-Za-z0-9._-'
    WHEN octet_length(subject) > 255 OR subject ~ '[\u0001-\u001F\u007F-\u009F]' THEN 'subject must be at most 255 bytes of UTF-8 without control characters'
    WHEN cardinality(endpoint_ids) = 0 THEN 'endpoint_ids is empty; name at least one, or leave it out for every subscriber'
    WHEN cardinality(endpoint_ids) > 1000 THEN format('endpoint_ids has %s ids; at most 1000', cardinality(endpoint_ids)) END;
  IF wrong IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'OW400', MESSAGE = wrong;
  END IF;
  IF octet_length(body) > 1048576 THEN
    RAISE EXCEPTION USING ERRCODE = 'OW413', MESSAGE = format('payload has %s bytes; at most 1048576', octet_length(body)), HINT = 'keep the content elsewhere, and send where it is';
  END IF;
  IF endpoint_ids IS NOT NULL THEN
    named := ARRAY(SELECT DISTINCT coalesce(onceward_row('ep_', number, u), 0) AS id FROM unnest(endpoint_ids) u ORDER BY id);
  END IF;
  hash := sha256(convert_to('{' || CASE WHEN named IS NULL THEN '' ELSE '"Endpoints":[' || (SELECT string_agg(onceward_canonical_number(u::text), ',' ORDER BY u) FROM unnest(named) u) || '],' END
    || '"Payload":' || onceward_canonical(payload) || CASE WHEN subject <> '' THEN ',"Subject":' || to_json(subject)::text ELSE '' END
    || CASE WHEN tenant <> '' THEN ',"Tenant":' || to_json(tenant)::text ELSE '' END || ',"Type":' || to_json(event_type)::text || '}', 'UTF8'));
  SELECT * INTO r FROM onceward_tx_send(number, event_id, event_type, coalesce(tenant, ''), coalesce(subject, ''), coalesce(named::text, ''), hash, body, coalesce(idempotency_key, ''),
    sha256(convert_to('{"Content":"' || encode(hash, 'base64') || '","EventID":"' || given || '"}', 'UTF8'))); -- as webhook.NewEvent.SetKey has it
  CASE r.what
  WHEN 'endpoint' THEN
    RAISE EXCEPTION USING ERRCODE = 'OW400', MESSAGE = 'endpoint_ids names an endpoint that is not there';
  WHEN 'tenant' THEN
    RAISE EXCEPTION USING ERRCODE = 'OW400', MESSAGE = 'endpoint_ids names an endpoint of another tenant';
  WHEN 'key' THEN
    RAISE EXCEPTION USING ERRCODE = 'OW409', MESSAGE = format('the idempotency key %s was used for another request', quote_literal(idempotency_key)),
      HINT = 'a key stands for one request: make a new key for a new one, or send the first one again';
  WHEN 'known' THEN
    IF r.first_hash <> hash THEN
      RAISE EXCEPTION USING ERRCODE = 'OW409', MESSAGE = format('the event_id %s was used for an event with other content', quote_literal(event_id)), HINT = 'send other content under an event_id of its own';
    END IF;
  ELSE
  END CASE;
  RETURN r.event;
END $$;
