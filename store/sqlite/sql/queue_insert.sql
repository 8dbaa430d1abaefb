INSERT INTO queues (id, project, name, dlq, is_dlq, fifo, grouped, max_receives, visibility_s, retention_s, dedup_window_s,
                    content_dedup, require_receipt, paused, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
