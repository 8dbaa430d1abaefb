SELECT id, project, event, endpoint, claim_id, sends, key_send, cause, ladder, attempt_base, created_at, cancelled_at
FROM deliveries WHERE id = ?
