-- $1 project, $2 name, $3 dlq (0: none), $4 is_dlq, $5 fifo, $6 max_receives, $7 visibility_s, $8 retention_s, $9 dedup_window_s, $10 content_dedup,
-- $11 require_receipt. Nothing if there is one.
INSERT INTO queues (project, name, dlq, is_dlq, fifo, max_receives, visibility_s, retention_s, dedup_window_s, content_dedup, require_receipt)
VALUES ($1, $2, nullif($3::bigint, 0), $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (project, name) DO NOTHING RETURNING id, created_at
