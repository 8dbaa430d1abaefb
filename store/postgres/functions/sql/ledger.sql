-- The claim ledger's rules once more, for SQL: each function is a method of ledger.Claim, and the store's suite holds both to the same. A key that a transaction has
-- touched is locked until that ends: another who wants it waits, over HTTP for a bounded time.

-- Finds a worker's key and locks it; no row if there is none.
CREATE OR REPLACE FUNCTION onceward_key(p_project bigint, p_scope text, p_key text) RETURNS SETOF worker_claims LANGUAGE plpgsql AS $$
DECLARE
  h bytea := onceward_key_hash(p_project, p_scope, p_key);
BEGIN
  IF NOT coalesce(p_scope ~ '^[ -~]{1,128}$' COLLATE "C", false) THEN
    RAISE EXCEPTION USING ERRCODE = 'OW400', MESSAGE = 'scope must be 1 to 128 printable ASCII characters that name the kind of work';
  ELSIF NOT coalesce(octet_length(p_key) BETWEEN 1 AND 512, false) THEN
    RAISE EXCEPTION USING ERRCODE = 'OW400', MESSAGE = format('key has %s bytes; it must have 1 to 512', coalesce(octet_length(p_key), 0));
  END IF;
  PERFORM pg_advisory_xact_lock_shared(1668050291, get_byte(h, 0) * 4 + get_byte(h, 1) / 64);
  RETURN QUERY SELECT * FROM worker_claims c WHERE c.hash = h FOR UPDATE;
END $$;

-- Adds a line to a key's history.
CREATE OR REPLACE FUNCTION onceward_note(p_claim bigint, p_what text, p_fence bigint, p_who text, p_detail text) RETURNS void LANGUAGE sql AS $$
  INSERT INTO claim_notes (claim_id, what, fence, who, detail) VALUES (p_claim, p_what, p_fence, nullif(p_who, ''), nullif(p_detail, ''))
$$;

-- A key's history does not grow for ever, a person's acts aside.
CREATE OR REPLACE FUNCTION onceward_trim(p_claim bigint) RETURNS void LANGUAGE sql AS $$
  DELETE FROM claim_notes n WHERE n.claim_id = p_claim AND n.what NOT IN ('resolved', 'reopened')
    AND n.id <= (SELECT o.id FROM claim_notes o WHERE o.claim_id = p_claim ORDER BY o.id DESC OFFSET 50 LIMIT 1)
$$;

-- Records a word that changed nothing (ledger.Applied.Refused), and keeps the newest of such lines.
CREATE OR REPLACE FUNCTION onceward_refused(p_claim bigint, p_reason text, p_fence bigint, p_word text) RETURNS void LANGUAGE sql AS $$
  SELECT onceward_note(p_claim, CASE p_reason WHEN 'fenced' THEN 'fenced' ELSE 'refused' END, coalesce(p_fence, 0), NULL, p_word);
  SELECT onceward_trim(p_claim)
$$;

-- The work_hash of a payload, as HTTP makes it. It is volatile so that it is guarded as the others are, and finds what it calls from whatever schema it is called.
CREATE OR REPLACE FUNCTION onceward_work_hash(payload json) RETURNS bytea LANGUAGE sql VOLATILE STRICT AS $$
  SELECT sha256(convert_to(onceward_canonical(payload), 'UTF8'))
$$;

-- Asks for a key, which is made if it is new (ledger.Claim.Grant). The verdict: granted (do the work under the fence), done (with the result), busy (come again
-- after the seconds), failed, stuck, mismatch (the key stands for other work), too_old. policy is idempotent or once; it, max_attempts, receiver_window_seconds and
-- origin_at (that of the message, or now) count where the key is new. A queue and a receipt_handle of it have that message carry the key: within a second of the commit it
-- does, and what is said of the key with settle reaches it. Repeat a grant_id only to ask again for the answer of the same call.
CREATE OR REPLACE FUNCTION onceward_claim(
  scope text, key text, owner text DEFAULT NULL, lease_seconds float8 DEFAULT 60, policy text DEFAULT 'idempotent', work_hash bytea DEFAULT NULL, max_attempts int DEFAULT 5,
  receiver_window_seconds float8 DEFAULT NULL, origin_at timestamptz DEFAULT NULL, grant_id text DEFAULT NULL, project text DEFAULT 'default',
  queue text DEFAULT NULL, receipt_handle text DEFAULT NULL,
  OUT verdict text, OUT fence bigint, OUT attempt int, OUT ambiguous boolean, OUT op_id text, OUT result bytea, OUT retry_after_seconds float8)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  number bigint := onceward_project(project);
  g text := coalesce(grant_id, gen_random_uuid()::text);
  memory interval := interval '90 days';
  wrong text;
  c worker_claims;
  ended text;
  why text;
  v_may boolean;
  m messages;
  v_message bigint;
  v_lease int;
  v_lost boolean := false;
BEGIN
  wrong := CASE
    WHEN NOT coalesce(lease_seconds BETWEEN 1 AND 43200, false) THEN format('lease_seconds is %s; it must be 1 to 43200', lease_seconds)
    WHEN NOT coalesce(policy IN ('idempotent', 'once'), false) THEN 'policy must be idempotent or once'
    WHEN NOT coalesce(max_attempts BETWEEN 1 AND 1000, false) THEN format('max_attempts is %s; it must be 1 to 1000', max_attempts)
    WHEN NOT coalesce(receiver_window_seconds BETWEEN 1 AND 315360000, true) THEN format('receiver_window_seconds is %s; it must be 1 to 315360000, or NULL (for ever)', receiver_window_seconds)
    WHEN NOT coalesce(origin_at >= '1970-01-01Z' AND origin_at < '10000-01-01Z', true) THEN format('origin_at is %s; it must be a time since 1970, of a year of four digits', origin_at)
    WHEN octet_length(grant_id) > 255 THEN format('grant_id has %s bytes; at most 255: make a UUID', octet_length(grant_id))
    WHEN octet_length(owner) > 255 THEN format('owner has %s bytes; at most 255', octet_length(owner))
    WHEN octet_length(work_hash) <> 32 THEN format('work_hash has %s bytes; it must have 32: sha256(…)', octet_length(work_hash)) END;
  IF wrong IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'OW400', MESSAGE = wrong;
  END IF;
  IF onceward_claim.queue IS NOT NULL OR receipt_handle IS NOT NULL THEN
    SELECT r.message, r.lease INTO v_message, v_lease FROM onceward_receipt(number, onceward_claim.queue, receipt_handle) r;
    SELECT * INTO m FROM messages WHERE id = v_message AND messages.project = number;
    v_lost := m.lease_no <> v_lease OR NOT m.receipt_open;
    IF m.id IS NULL THEN
      RAISE EXCEPTION USING ERRCODE = 'OW404', MESSAGE = 'the message that is to carry the key is gone: it was acked, deleted, or its retention is over';
    ELSIF NOT v_lost AND m.dead_at IS NOT NULL THEN
      RAISE EXCEPTION USING ERRCODE = 'OW409', MESSAGE = 'the message is a dead letter: its key is closed, and is opened again when it goes back to its queue', HINT = 'redrive it, or claim the key without queue and receipt_handle';
    END IF;
  END IF;
  LOOP
    SELECT * INTO c FROM onceward_key(number, scope, key);
    EXIT WHEN FOUND AND (c.state NOT IN ('done', 'failed') OR c.finished_at + coalesce(c.keep_s * interval '1 s', memory) > now());
    DELETE FROM claim_notes n WHERE n.claim_id = c.id; -- it was to be forgotten, and is asked for anew
    DELETE FROM worker_claims w WHERE w.id = c.id;
    INSERT INTO worker_claims (kind, project, scope, key, hash, work_hash, policy, state, max_tries, window_s, origin_at)
    VALUES ('w', number, onceward_claim.scope, onceward_claim.key, onceward_key_hash(number, onceward_claim.scope, onceward_claim.key), onceward_claim.work_hash,
      CASE onceward_claim.policy WHEN 'once' THEN 'o' ELSE 'i' END, 'new', max_attempts, receiver_window_seconds, coalesce(onceward_claim.origin_at, m.origin_at, now()))
    ON CONFLICT DO NOTHING;
  END LOOP;
  op_id := 'op_' || encode(substr(sha256('op'::bytea || c.hash || int8send((extract(epoch FROM c.created_at) * 1000000)::bigint)), 1, 16), 'hex');
  fence := c.fence;
  attempt := c.attempt;
  ambiguous := c.ambiguous;
  IF NOT v_lost AND (m.claim_id <> c.id OR EXISTS (SELECT FROM follows f WHERE f.message = v_message AND f.claim <> c.id AND f.lease_no = v_lease)) THEN
    RAISE EXCEPTION USING ERRCODE = 'OW409', MESSAGE = 'the message carries another key: it was claimed with one before', HINT = 'a message''s work has one key: claim that one, or this one without queue and receipt_handle';
  END IF;
  IF c.work_hash <> onceward_claim.work_hash THEN
    verdict := 'mismatch';
    RETURN;
  ELSIF c.state IN ('done', 'failed', 'stuck') THEN
    verdict := c.state;
    result := c.result;
    IF NOT v_lost AND v_message IS NOT NULL AND c.state <> 'done' THEN -- it is to be dead-lettered with the key, so that its redrive opens that
      UPDATE worker_claims w SET message_id = v_message WHERE w.id = c.id AND w.message_id IS NULL;
      INSERT INTO follows (claim, message, lease_no, act) VALUES (c.id, v_message, v_lease, 'l');
    END IF;
    RETURN;
  ELSIF c.lease_until > now() THEN
    verdict := CASE WHEN c.grant_id = g AND coalesce(c.owner, '') = coalesce(onceward_claim.owner, '') THEN 'granted' ELSE 'busy' END;
    IF verdict = 'busy' THEN
      retry_after_seconds := greatest(1, extract(epoch FROM c.lease_until - now()));
    END IF;
    RETURN;
  ELSIF c.grant_id = g OR c.next_at > now() THEN -- its grant is over: a new call needs a new id
    verdict := 'busy';
    retry_after_seconds := greatest(1, extract(epoch FROM c.next_at - now()));
    RETURN;
  END IF;
  IF v_lost THEN
    DELETE FROM worker_claims w WHERE w.id = c.id AND w.state = 'new';
    verdict := 'busy';
    retry_after_seconds := 1;
    RETURN;
  END IF;
  IF v_message IS NOT NULL THEN
    INSERT INTO follows (claim, message, lease_no, act) VALUES (c.id, v_message, v_lease, 'l');
  END IF;
  IF c.state IN ('claimed', 'started') THEN
    PERFORM onceward_note(c.id, 'lapsed', c.fence, c.owner, 'in state ' || c.state);
  END IF;
  v_may := c.ambiguous OR c.state = 'started';
  IF c.state = 'started' AND c.policy = 'o' THEN
    ended := 'stuck';
    why := 'the worker died after the effect may have begun';
  ELSIF c.tries >= c.max_tries THEN
    ended := CASE WHEN v_may THEN 'stuck' ELSE 'failed' END;
    why := CASE WHEN v_may THEN 'tries used up, one of them with an unknown outcome' ELSE 'tries used up' END;
  ELSIF c.policy = 'i' AND v_may AND c.first_at + c.window_s * interval '1 s' <= now() THEN
    ended := 'stuck';
    why := 'the receiver no longer remembers the key of a try with an unknown outcome';
  ELSIF now() - c.origin_at > memory AND NOT (c.state = 'retry' AND c.tries = 0 AND now() - c.next_at <= memory) THEN
    ended := CASE WHEN v_may THEN 'stuck' ELSE 'failed' END;
    why := 'older than the ledger''s memory of 90 days';
    verdict := 'too_old';
  END IF;
  IF ended IS NOT NULL THEN
    verdict := coalesce(verdict, ended);
    ambiguous := v_may;
    UPDATE worker_claims w SET state = ended, last_error = why, ambiguous = v_may, lease_until = NULL, next_at = NULL, finished_at = CASE WHEN ended <> 'stuck' THEN now() END, message_id = coalesce(c.message_id, v_message)
    WHERE w.id = c.id;
    PERFORM onceward_note(c.id, 'closed', c.fence, NULL, why);
    RETURN;
  END IF;
  UPDATE worker_claims w SET fence = c.fence + 1, attempt = c.attempt + 1, tries = c.tries + 1, ambiguous = v_may, grant_id = g, owner = nullif(onceward_claim.owner, ''),
    lease_until = now() + lease_seconds * interval '1 s', next_at = NULL, state = CASE c.policy WHEN 'o' THEN 'claimed' ELSE 'started' END,
    begun = CASE c.policy WHEN 'o' THEN c.begun ELSE c.fence + 1 END, work_hash = CASE WHEN c.attempt = 0 THEN coalesce(c.work_hash, onceward_claim.work_hash) ELSE c.work_hash END,
    first_at = CASE WHEN c.policy = 'i' AND (NOT v_may OR c.first_at IS NULL) THEN now() ELSE c.first_at END,
    message_id = coalesce(v_message, c.message_id), lease_no = coalesce(v_lease, c.lease_no)
  WHERE w.id = c.id;
  PERFORM onceward_note(c.id, 'granted', c.fence + 1, owner, NULL);
  IF (c.fence + 1) % 50 = 0 THEN
    PERFORM onceward_trim(c.id);
  END IF;
  verdict := 'granted';
  fence := c.fence + 1;
  attempt := c.attempt + 1;
  ambiguous := v_may;
END $$;

-- Makes the line before the effect durable once it is committed (policy once), or extends the holder's lease (ledger.Claim.Begin).
CREATE OR REPLACE FUNCTION onceward_begin(scope text, key text, fence bigint, lease_seconds float8 DEFAULT 60, project text DEFAULT 'default',
  OUT applied boolean, OUT state text, OUT reason text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  c worker_claims;
BEGIN
  applied := false;
  IF NOT coalesce(lease_seconds BETWEEN 1 AND 43200, false) THEN
    RAISE EXCEPTION USING ERRCODE = 'OW400', MESSAGE = format('lease_seconds is %s; it must be 1 to 43200', lease_seconds);
  END IF;
  SELECT * INTO c FROM onceward_key(onceward_project(project), scope, key);
  IF NOT FOUND THEN
    reason := 'not_found';
    RETURN;
  END IF;
  state := c.state;
  IF c.fence IS DISTINCT FROM onceward_begin.fence THEN
    reason := 'fenced';
    PERFORM onceward_refused(c.id, reason, onceward_begin.fence, 'begin');
    RETURN;
  ELSIF c.state NOT IN ('claimed', 'started') THEN
    reason := c.state;
    RETURN;
  END IF;
  IF c.begun <> c.fence THEN
    PERFORM onceward_note(c.id, 'begun', c.fence, c.owner, NULL);
  END IF;
  UPDATE worker_claims w SET state = 'started', begun = c.fence, lease_until = now() + lease_seconds * interval '1 s',
    first_at = CASE WHEN c.begun <> c.fence AND (NOT c.ambiguous OR c.first_at IS NULL) THEN now() ELSE c.first_at END
  WHERE w.id = c.id;
  INSERT INTO follows (claim, message, lease_no, act) SELECT c.id, c.message_id, c.lease_no, 'b' WHERE c.lease_no > 0;
  applied := true;
  state := 'started';
END $$;

-- What a holder says of its try (ledger.Claim.Settle): kind is done, definite, permanent, ambiguous or given_back.
CREATE OR REPLACE FUNCTION onceward_word(p_scope text, p_key text, p_fence bigint, p_kind text, p_retry float8, p_error text, p_result bytea, p_project text, p_settle boolean,
  OUT applied boolean, OUT state text, OUT reason text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  c worker_claims;
  v_kind text := p_kind;
  v_tries int;
  v_amb boolean;
  v_beyond boolean := false;
BEGIN
  IF octet_length(p_result) > 262144 THEN
    RAISE EXCEPTION USING ERRCODE = 'OW413', MESSAGE = format('result has %s bytes; at most 262144', octet_length(p_result)), HINT = 'keep the result elsewhere, and give where it is';
  END IF;
  applied := false;
  SELECT * INTO c FROM onceward_key(onceward_project(p_project), p_scope, p_key);
  IF NOT FOUND THEN
    reason := 'not_found';
    RETURN;
  END IF;
  state := c.state;
  reason := CASE
    WHEN c.fence IS DISTINCT FROM p_fence THEN 'fenced'
    WHEN v_kind = 'done' AND c.state IN ('failed', 'new') THEN c.state
    WHEN v_kind = 'done' AND c.state <> 'done' AND c.begun <> p_fence THEN 'not_begun'
    WHEN v_kind <> 'done' AND c.state NOT IN ('claimed', 'started') THEN c.state END;
  IF reason IS NOT NULL THEN
    PERFORM onceward_refused(c.id, reason, p_fence, p_kind || coalesce(': ' || nullif(p_error, ''), ''));
    RETURN;
  END IF;
  applied := true;
  INSERT INTO follows (claim, message, lease_no, act) SELECT c.id, c.message_id, c.lease_no, 's' WHERE p_settle AND c.lease_no > 0;
  IF c.state = 'done' THEN
    RETURN; -- the same word again
  END IF;
  PERFORM onceward_note(c.id, p_kind, c.fence, c.owner, p_error);
  IF v_kind = 'done' THEN
    state := 'done';
    UPDATE worker_claims w SET state = 'done', last_error = NULL, lease_until = NULL, next_at = NULL, finished_at = now(), result = p_result WHERE w.id = c.id;
    INSERT INTO follows (claim, message, lease_no, act) -- it came late: there is nothing left to redrive
      SELECT c.id, m.id, c.lease_no, 'd' FROM messages m WHERE m.id = c.message_id AND m.claim_id = c.id AND m.dead_at IS NOT NULL;
    RETURN;
  END IF;
  IF v_kind = 'ambiguous' AND c.begun <> c.fence THEN
    v_kind := 'definite'; -- what was not begun cannot have happened
  END IF;
  v_amb := c.ambiguous OR v_kind = 'ambiguous';
  v_tries := c.tries - (v_kind = 'given_back')::int;
  state := CASE
    WHEN v_kind = 'given_back' THEN 'retry'
    WHEN v_kind = 'ambiguous' AND c.policy = 'o' THEN 'stuck'
    WHEN v_kind = 'permanent' OR c.tries >= c.max_tries THEN CASE WHEN v_amb THEN 'stuck' ELSE 'failed' END
    ELSE 'retry' END;
  IF state = 'retry' AND v_kind <> 'given_back' AND v_amb AND c.policy = 'i' AND c.first_at + c.window_s * interval '1 s' <= now() + p_retry * interval '1 s' THEN
    state := 'stuck'; -- nobody would be granted the next try
    v_beyond := true;
  END IF;
  UPDATE worker_claims w SET state = onceward_word.state, ambiguous = v_amb, tries = v_tries, attempt = c.attempt - (v_kind = 'given_back')::int, lease_until = NULL,
    last_error = nullif(concat_ws('; ', nullif(p_error, ''), CASE WHEN v_beyond THEN 'the next try would come when the receiver no longer remembers the key of one with an unknown outcome' END), ''),
    work_hash = CASE WHEN v_kind = 'given_back' AND c.attempt = 1 AND NOT v_amb THEN NULL ELSE c.work_hash END,
    next_at = CASE WHEN onceward_word.state = 'retry' THEN now() + p_retry * interval '1 s' END, finished_at = CASE WHEN onceward_word.state = 'failed' THEN now() END
  WHERE w.id = c.id;
END $$;

-- The work is done: whoever asks for the key from now on gets the result. With settle the message that carries the key is acked once this has committed. Not applied: fenced (somebody else has the key by now), not_begun (policy once), or the state that it ended in.
CREATE OR REPLACE FUNCTION onceward_complete(scope text, key text, fence bigint, result bytea DEFAULT NULL, project text DEFAULT 'default', settle boolean DEFAULT false,
  OUT applied boolean, OUT state text, OUT reason text) LANGUAGE sql AS $$
  SELECT * FROM onceward_word(scope, key, fence, 'done', 0, NULL, result, project, settle)
$$;

-- The try failed: definite (it certainly did not happen), permanent (and never will), ambiguous (nobody knows), or given_back (it was not begun, and is not counted). With
-- settle the message that carries the key is released for its next try, or dead-lettered, once this has committed.
CREATE OR REPLACE FUNCTION onceward_fail(scope text, key text, fence bigint, kind text DEFAULT 'definite', error text DEFAULT NULL, retry_in_seconds float8 DEFAULT 0, project text DEFAULT 'default', settle boolean DEFAULT false,
  OUT applied boolean, OUT state text, OUT reason text) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
  IF NOT coalesce(kind IN ('definite', 'permanent', 'ambiguous', 'given_back'), false) THEN
    RAISE EXCEPTION USING ERRCODE = 'OW400', MESSAGE = 'kind must be definite, permanent, ambiguous or given_back';
  ELSIF NOT coalesce(retry_in_seconds BETWEEN 0 AND 604800, false) THEN
    RAISE EXCEPTION USING ERRCODE = 'OW400', MESSAGE = format('retry_in_seconds is %s; it must be 0 to 604800', retry_in_seconds);
  END IF;
  SELECT w.applied, w.state, w.reason INTO applied, state, reason FROM onceward_word(scope, key, fence, kind, retry_in_seconds, left(error, 4096), NULL, project, settle) w;
END $$;
