-- Claims of deliveries that this transaction has locked and granted alike: $1 ids, $2 state, $3 fence, $4 begun, $5 attempt, $6 tries, $7 ambiguous, $8 grant_id, $9 owner,
-- $10 lease_until, $11 first_at, $12 lease_no.
UPDATE delivery_claims SET state = $2, fence = $3, begun = $4, attempt = $5, tries = $6, ambiguous = $7, grant_id = $8, owner = $9, lease_until = $10, next_at = NULL,
       first_at = nullif($11, '0001-01-01Z'::timestamptz), lease_no = $12
WHERE id = ANY ($1::bigint[])
