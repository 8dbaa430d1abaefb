-- $1 id, $2 dlq (0: none), $3 max_receives, $4 visibility_s, $5 retention_s, $6 dedup_window_s, $7 content_dedup, $8 require_receipt
UPDATE queues SET dlq = nullif($2::bigint, 0), max_receives = $3, visibility_s = $4, retention_s = $5, dedup_window_s = $6, content_dedup = $7, require_receipt = $8 WHERE id = $1
