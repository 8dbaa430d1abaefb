UPDATE deliveries SET claim_id = ?, sends = ?, key_send = ?, cause = ?, attempt_base = ?, cancelled_at = ? WHERE id = ?
