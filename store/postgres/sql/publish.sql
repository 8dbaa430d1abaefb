-- N messages of any queues in one statement: $1 project, $2 queue, $3 body, $4 headers ('': none), $5 delay_s, $6 prio, $7 group id (0: ungrouped),
-- $8 origin (year 1: now), $9 key ('': none), $10 hash, $11 a tick of the group, $13 the key that the payload is where the queue has content_dedup ('': not made).
-- Of all but $3, $9 and $10 an array of one element is for all.
-- $12 how long to wait for a lock; then a key that may be in somebody's own open transaction (functions/tx_publish.sql) is not waited for, and held. Empty: wait.
-- One row for each, in order: what became of it. stored, known, queue, delay, held; order: a fifo queue does not take it; content: its queue wants $13; fold: its
-- queue is fifo and has messages that come first and wait for their groups (wakes_fold.sql): those up to the wake $14. Of the last two all of a queue, so that they keep their order.
-- Of a known one publish_known.sql, with a fresh snapshot, has the first answer. A group that has gone fails the CHECK of prio, and with it
-- the whole statement, which is sent again once the group is made.
-- What ends with --g is left out, and what begins with --p put in, where no message has a group: most have none, and a fifth of the statement is that.
-- What begins with --$ is part of it where publishing has a price alone (charge.go): $15 price. A message that its project cannot pay is answered credit.
WITH i AS MATERIALIZED (
  SELECT n, coalesce(project, ($1::bigint[])[1]) AS project, coalesce(queue, ($2::text[])[1]) AS queue, body, coalesce(headers, ($4::text[])[1]) AS headers,
         coalesce(delay, ($5::float8[])[1]) AS delay, coalesce(prio, ($6::int2[])[1]) AS prio, coalesce(gid, ($7::bigint[])[1]) AS gid,
         coalesce(origin, ($8::timestamptz[])[1]) AS origin, given, hash, coalesce(tick, ($11::bigint[])[1]) AS tick, coalesce(content, ($13::text[])[1]) AS content,
         coalesce(through, ($14::bigint[])[1]) AS through,
--$      coalesce(price, ($15::bigint[])[1]) AS price,
         nextval('message_seq') AS id
  FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::text[], $5::float8[], $6::int2[], $7::bigint[], $8::timestamptz[], $9::text[], $10::bytea[], $11::bigint[], $13::text[], $14::bigint[]
--$    , $15::bigint[]
       ) WITH ORDINALITY AS u(project, queue, body, headers, delay, prio, gid, origin, given, hash, tick, content, through,
--$    price,
       n)
  WHERE (SELECT $12 = '' OR set_config('lock_timeout', $12, true) <> '')
), q AS MATERIALIZED (                                 -- a queue that is being deleted is waited for, and then is not there
  SELECT id, project, name, CASE WHEN is_dlq THEN 32767 ELSE max_receives END AS max_receives, retention_s, dedup_window_s, fifo, content_dedup,
         CASE WHEN content_dedup AND EXISTS (SELECT 1 FROM i WHERE i.project = queues.project AND i.queue = queues.name AND given = '' AND content = '') THEN 'content'
              WHEN fifo AND EXISTS (SELECT 1 FROM wakes WHERE wakes.queue = queues.id AND wakes.id <= (SELECT min(through) FROM i WHERE i.project = queues.project AND i.queue = queues.name)) THEN 'fold' END AS wants
  FROM queues
  WHERE (project, name) IN (SELECT project, queue FROM i) ORDER BY id FOR KEY SHARE
), e AS (
  SELECT i.*, q.id AS qid, q.max_receives, q.retention_s, q.dedup_window_s, q.fifo, CASE WHEN given = '' AND q.content_dedup THEN content ELSE given END AS key,
         CASE WHEN q.id IS NULL THEN 'queue' WHEN delay >= q.retention_s THEN 'delay' WHEN q.fifo AND (gid = 0 OR prio <> 0) THEN 'order' ELSE q.wants END AS refused
  FROM i LEFT JOIN q ON q.project = i.project AND q.name = i.queue COLLATE "C"
), j AS MATERIALIZED (
  SELECT e.*, now() + delay * interval '1 s' AS vis, key <> '' AND (
           row_number() OVER (PARTITION BY project, queue, key ORDER BY n) > 1
           OR coalesce((SELECT o.expires_at > now() FROM publish_keys o -- not EXISTS, which may be planned as a scan of all keys
             WHERE o.project = e.project AND o.queue = e.queue COLLATE "C" AND o.key = e.key COLLATE "C"), false)) AS known,
         CASE WHEN key = '' OR $12 = '' THEN false -- whoever has a key of this slot in a transaction of his own shares the lock
           WHEN pg_try_advisory_lock(1801812339, hashtext(key) & 1023) THEN NOT pg_advisory_unlock(1801812339, hashtext(key) & 1023) ELSE true END AS held
  FROM e
--$ ), c AS MATERIALIZED (                                -- what is left of each limit: credit_lock.sql holds these projects
--$   SELECT p.id, onceward_credit_left(p.id) AS rest
--$   FROM projects p WHERE p.id IN (SELECT project FROM i) AND p.credit_limit IS NOT NULL
--$ ), p AS MATERIALIZED (                                -- those that are paid, in their order
--$   SELECT s.id FROM (
--$     SELECT j.id, j.price, c.rest, sum(j.price) OVER (PARTITION BY j.project ORDER BY j.n) AS cost FROM j LEFT JOIN c ON c.id = j.project
--$     WHERE NOT j.known AND NOT j.held AND j.refused IS NULL) s
--$   WHERE s.price = 0 OR s.rest IS NULL OR s.cost <= s.rest
), k AS (
  INSERT INTO publish_keys AS t (project, queue, key, hash, message_id, published_at, visible_at, expires_at)
  SELECT project, queue, key, hash, id, now(), vis, now() + dedup_window_s * interval '1 s' FROM j
  WHERE key <> '' AND NOT known AND NOT held AND refused IS NULL
--$     AND id IN (SELECT id FROM p)
  ORDER BY project, queue COLLATE "C", key COLLATE "C"
  ON CONFLICT (project, queue, key) DO UPDATE SET hash = excluded.hash, message_id = excluded.message_id, published_at = excluded.published_at,
     visible_at = excluded.visible_at, expires_at = excluded.expires_at
    WHERE t.expires_at <= now()
  RETURNING message_id
), w AS MATERIALIZED (
  SELECT * FROM j WHERE refused IS NULL AND (key = '' OR id IN (SELECT message_id FROM k))
--$     AND id IN (SELECT id FROM p)
--$ ), u AS (
--$   INSERT INTO usage_deltas (project, day, messages, cost)
--$   SELECT project, (now() AT TIME ZONE 'UTC')::date, count(*), sum(price) FROM w WHERE price > 0 GROUP BY 1
), gl AS MATERIALIZED ( -- groups in one lock order --g
  SELECT g.id, n.vis, n.tick FROM groups g --g
  JOIN (SELECT gid, qid, min(vis) AS vis, min(tick) AS tick FROM w WHERE gid <> 0 GROUP BY 1, 2) n ON g.id = ANY (ARRAY[n.gid]) AND g.tick >= n.tick AND g.queue = n.qid --g
  ORDER BY n.gid FOR UPDATE OF g --g
), m AS (
  INSERT INTO messages (id, project, queue, gid, prio, place, max_receives, vis, published_at, origin_at, expires_at, retention_s)
  SELECT id, project, qid,
         nullif(gid, 0), CASE WHEN gid = 0 OR gid IN (SELECT id FROM gl) THEN prio ELSE -1 END, --g
         CASE WHEN fifo AND gid IN (SELECT id FROM gl) THEN nextval('message_seq') END, -- the place, once the groups are locked --g
--p      NULL, prio, NULL,
         max_receives, vis, now(),
         coalesce(nullif(origin, '0001-01-01Z'), now()), vis + retention_s * interval '1 s', retention_s
  FROM w ORDER BY n
), b AS (
  INSERT INTO bodies (id, body, headers) SELECT id, body, nullif(headers, '')::jsonb FROM w
), gu AS ( --g
  UPDATE groups g SET next_at = least(g.next_at, gl.vis), wake_xid = pg_current_xact_id(), tick = greatest(g.tick, group_tick()) --g
  FROM gl WHERE g.id = ANY (ARRAY[gl.id]) AND g.tick >= gl.tick --g
)
SELECT j.id, CASE WHEN j.id IN (SELECT id FROM w) THEN 'stored' WHEN j.known THEN 'known' WHEN j.refused IS NOT NULL THEN j.refused WHEN j.held THEN 'held'
--$           WHEN j.id NOT IN (SELECT id FROM p) THEN 'credit'
              ELSE 'known' END,
       now(), j.vis, coalesce(j.qid, 0), coalesce(j.retention_s, 0)
FROM j ORDER BY j.n
