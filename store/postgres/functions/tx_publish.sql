-- Publishes one message inside the caller's transaction, whatever else that does and however long it stays open. Empty text is none, a year of 1 is now.
-- What became of it: stored, known (with the first answer and its hash), queue (there is none), delay (at or past the retention),
-- order (a fifo queue does not take it), content (the queue has content_dedup: call again with the key that the payload is), credit (the project cannot pay the cost).
-- cost is what a stored message was charged.
-- Locks what stands in nobody's way: the queue against deletion, the key. The group is left to who receives next (wakes). A
-- server that publishes under a key of the same slot meanwhile sees from the advisory lock that it may have to wait (publish.sql).
CREATE OR REPLACE FUNCTION onceward_tx_publish(
  p_project bigint, p_queue text, p_body bytea, p_headers text, p_delay float8, p_priority int, p_group text, p_origin timestamptz, p_key text, p_hash bytea,
  OUT what text, OUT message bigint, OUT published timestamptz, OUT visible timestamptz, OUT retention float8, OUT first_hash bytea,
  OUT cost bigint)
LANGUAGE plpgsql AS $$
DECLARE
  q record;
  price bigint := onceward_price();
BEGIN
  IF p_key <> '' THEN
    PERFORM pg_advisory_xact_lock_shared(1801812339, hashtext(p_key) & 1023);
  END IF;
  LOOP
    IF p_key <> '' THEN
      SELECT 'known', k.message_id, k.published_at, k.visible_at, k.hash INTO what, message, published, visible, first_hash FROM publish_keys k
      WHERE k.project = p_project AND k.queue = p_queue COLLATE "C" AND k.key = p_key COLLATE "C" AND k.expires_at > now();
      IF FOUND THEN RETURN; END IF;
    END IF;
    SELECT t.id, CASE WHEN t.is_dlq THEN 32767 ELSE t.max_receives END AS max_receives, t.retention_s, t.dedup_window_s, t.fifo, t.content_dedup INTO q FROM queues t
    WHERE t.project = p_project AND t.name = p_queue COLLATE "C" FOR KEY SHARE;
    IF NOT FOUND THEN
      what := 'queue';
      RETURN;
    END IF;
    retention := q.retention_s;
    IF p_delay >= q.retention_s THEN
      what := 'delay';
      RETURN;
    END IF;
    IF q.fifo AND (p_group = '' OR p_priority <> 0) THEN
      what := 'order';
      RETURN;
    END IF;
    IF q.content_dedup AND p_key = '' THEN
      what := 'content';
      RETURN;
    END IF;
    IF price > 0 AND NOT onceward_affords(p_project, price) THEN
      what := 'credit';
      cost := price;
      RETURN;
    END IF;
    message := nextval('message_seq');
    published := now();
    visible := now() + p_delay * interval '1 s';
    EXIT WHEN p_key = '';
    INSERT INTO publish_keys AS t (project, queue, key, hash, message_id, published_at, visible_at, expires_at)
    VALUES (p_project, p_queue, p_key, p_hash, message, published, visible, now() + q.dedup_window_s * interval '1 s')
    ON CONFLICT ON CONSTRAINT publish_keys_pkey DO UPDATE SET hash = excluded.hash, message_id = excluded.message_id, published_at = excluded.published_at,
      visible_at = excluded.visible_at, expires_at = excluded.expires_at
      WHERE t.expires_at <= now();
    EXIT WHEN FOUND; -- else whoever had it has committed: look again
  END LOOP;
  INSERT INTO messages (id, project, queue, gid, prio, max_receives, vis, published_at, origin_at, expires_at, retention_s)
  VALUES (message, p_project, q.id, CASE WHEN p_group <> '' THEN -1 END, p_priority, q.max_receives, visible, published,
    coalesce(nullif(p_origin, '0001-01-01Z'), now()), visible + q.retention_s * interval '1 s', q.retention_s);
  INSERT INTO bodies (id, body, headers) VALUES (message, p_body, nullif(p_headers, '')::jsonb);
  IF p_group <> '' THEN
    INSERT INTO wakes (queue, name, message) VALUES (q.id, p_group, message);
  END IF;
  IF price > 0 THEN -- a row of its own, which a server folds into the sums: no row is locked to the caller's commit
    INSERT INTO usage_deltas (project, day, messages, cost, xact, so_far)
    VALUES (p_project, (now() AT TIME ZONE 'UTC')::date, 1, price, pg_current_xact_id(), onceward_so_far(p_project) + 1);
  END IF;
  what := 'stored';
  cost := price;
END $$
