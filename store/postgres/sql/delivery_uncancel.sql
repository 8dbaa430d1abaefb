-- A late success shows a delivery that was cancelled as what it is: $1 claims of their newest sends
UPDATE deliveries SET cancelled_at = NULL WHERE claim_id = ANY ($1::bigint[]) AND cancelled_at IS NOT NULL
