-- Of these claims the ones that are of no delivery's newest send: $1 claim ids
SELECT u.claim FROM unnest($1::bigint[]) u(claim) WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.claim_id = u.claim)
