-- $1 project, $2 queue, $3 key: the first answers, where the window is open. One that is missing ran out meanwhile: publish it again.
SELECT u.n, k.hash, k.message_id, k.published_at, k.visible_at
FROM unnest($1::bigint[], $2::text[], $3::text[]) WITH ORDINALITY AS u(project, queue, key, n)
JOIN publish_keys k ON k.project = u.project AND k.queue = u.queue COLLATE "C" AND k.key = u.key COLLATE "C"
WHERE k.expires_at > now()
