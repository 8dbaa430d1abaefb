-- $1 id: locks it, unless another server is stepping it
SELECT id, project, queue, filter::text, rate, canary, total, moved, left_behind, last_id, coalesce(who, ''), created_at, paced_at
FROM redrives WHERE id = $1 AND state = 'running' FOR UPDATE SKIP LOCKED
