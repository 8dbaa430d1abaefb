-- Why their next first try is made: $1 claim_id, $2 cause
UPDATE deliveries d SET cause = u.cause FROM unnest($1::bigint[], $2::text[]) u(claim_id, cause) WHERE d.claim_id = u.claim_id
