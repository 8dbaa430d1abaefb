-- $1 project, $2 before this id (0: from the newest), $3 limit. Newest first.
SELECT q.id, q.project, q.name, coalesce(d.name, ''), q.is_dlq, q.fifo, q.max_receives, q.visibility_s, q.retention_s, q.dedup_window_s, q.content_dedup, q.require_receipt,
       q.paused, q.created_at
FROM queues q LEFT JOIN queues d ON d.id = q.dlq
WHERE q.project = $1 AND ($2 = 0 OR q.id < $2) AND q.name NOT LIKE '\_%' ORDER BY q.id DESC LIMIT $3
