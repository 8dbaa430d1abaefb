SELECT q.id, q.project, q.name, q.dlq, d.name, q.is_dlq, q.fifo, q.grouped, q.plain_turn, q.max_receives, q.visibility_s,
       q.retention_s, q.dedup_window_s, q.content_dedup, q.require_receipt, q.paused, q.created_at
FROM queues q LEFT JOIN queues d ON d.id = q.dlq
WHERE q.project = ? AND q.name = ?
