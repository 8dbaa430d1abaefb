-- A new send: $1 id, $2 claim_id, $3 key_send, $4 attempt_base
UPDATE deliveries SET claim_id = $2, sends = sends + 1, key_send = $3, attempt_base = $4, cause = 'resend', cancelled_at = NULL WHERE id = $1
