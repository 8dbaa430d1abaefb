-- publish.sql where all messages are for one queue, and none has a group, a price or its payload for a key; it leaves the same rows at two thirds of the price: $1 project, $2 queue,
-- $3 body, $4 headers ('': none), $5 delay_s, $6 prio, $7 origin (year 1: now), $8 key ('': none), $9 hash, $10 whether one before it has its key. Of $4 to $7 and $10 an array of one
-- element is for all. $11 how long to wait for a lock, as $12 there. The answers are as there; a key that is known shows where it is to be stored.
WITH q AS MATERIALIZED (
  SELECT id, CASE WHEN is_dlq THEN 32767 ELSE max_receives END AS max_receives, retention_s, dedup_window_s, fifo, content_dedup AND '' = ANY ($8::text[]) AS content
  FROM queues
  WHERE (SELECT $11 = '' OR set_config('lock_timeout', $11, true) <> '') AND project = $1 AND name = $2 COLLATE "C" FOR KEY SHARE
), j AS MATERIALIZED (
  SELECT n, nextval('message_seq') AS id, body, nullif(coalesce(headers, ($4::text[])[1]), '')::jsonb AS headers, coalesce(prio, ($6::int2[])[1]) AS prio,
         coalesce(nullif(coalesce(origin, ($7::timestamptz[])[1]), '0001-01-01Z'), now()) AS origin, key, hash, coalesce(twice, ($10::bool[])[1]) AS twice,
         now() + coalesce(delay, ($5::float8[])[1]) * interval '1 s' AS vis, q.id AS qid, q.max_receives, q.retention_s, q.dedup_window_s,
         CASE WHEN q.id IS NULL THEN 'queue' WHEN coalesce(delay, ($5::float8[])[1]) >= q.retention_s THEN 'delay' WHEN q.fifo THEN 'order' WHEN q.content THEN 'content' END AS refused,
         CASE WHEN key = '' OR $11 = '' THEN false
           WHEN pg_try_advisory_lock(1801812339, hashtext(key) & 1023) THEN NOT pg_advisory_unlock(1801812339, hashtext(key) & 1023) ELSE true END AS held
  FROM unnest($3::bytea[], $4::text[], $5::float8[], $6::int2[], $7::timestamptz[], $8::text[], $9::bytea[], $10::bool[]) WITH ORDINALITY
    AS u(body, headers, delay, prio, origin, key, hash, twice, n) LEFT JOIN q ON true
), k AS (
  INSERT INTO publish_keys AS t (project, queue, key, hash, message_id, published_at, visible_at, expires_at)
  SELECT $1, $2, key, hash, id, now(), vis, now() + dedup_window_s * interval '1 s' FROM j
  WHERE key <> '' AND NOT twice AND NOT held AND refused IS NULL
  ORDER BY key COLLATE "C"
  ON CONFLICT (project, queue, key) DO UPDATE SET hash = excluded.hash, message_id = excluded.message_id, published_at = excluded.published_at,
     visible_at = excluded.visible_at, expires_at = excluded.expires_at
    WHERE t.expires_at <= now()
  RETURNING message_id
), w AS MATERIALIZED (
  SELECT * FROM j WHERE refused IS NULL AND (key = '' OR id IN (SELECT message_id FROM k))
), m AS (
  INSERT INTO messages (id, project, queue, prio, max_receives, vis, published_at, origin_at, expires_at, retention_s)
  SELECT id, $1, qid, prio, max_receives, vis, now(), origin, vis + retention_s * interval '1 s', retention_s FROM w
), b AS (
  INSERT INTO bodies (id, body, headers) SELECT id, body, headers FROM w
)
SELECT id, CASE WHEN id IN (SELECT id FROM w) THEN 'stored' WHEN twice OR refused IS NULL AND NOT held THEN 'known'
              WHEN key <> '' AND coalesce((SELECT o.expires_at > now() FROM publish_keys o WHERE o.project = $1 AND o.queue = $2 COLLATE "C" AND o.key = j.key COLLATE "C"), false) THEN 'known'
              ELSE coalesce(refused, 'held') END,
       now(), vis, coalesce(qid, 0), coalesce(retention_s, 0)
FROM j ORDER BY n
