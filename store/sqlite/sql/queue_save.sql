UPDATE queues SET dlq = ?, grouped = ?, max_receives = ?, visibility_s = ?, retention_s = ?, dedup_window_s = ?, content_dedup = ?,
       require_receipt = ?, paused = ?
WHERE id = ?
