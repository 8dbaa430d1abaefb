-- $1 claims of their newest sends
UPDATE deliveries SET cancelled_at = now() WHERE claim_id = ANY ($1::bigint[])
