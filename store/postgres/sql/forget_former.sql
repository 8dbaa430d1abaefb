-- Of these claims the ones that are of no delivery's newest send: $1 claim ids
SELECT id FROM unnest($1::bigint[]) id WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.claim_id = id)
