INSERT INTO queues (id, project, name, dlq, is_dlq, grouped, max_receives, visibility_s, retention_s, dedup_window_s,
                    require_receipt, paused, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
