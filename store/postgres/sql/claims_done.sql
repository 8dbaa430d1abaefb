-- Claims of deliveries that this transaction has locked and that are done: $1 ids, $2 when. They have no result.
UPDATE delivery_claims SET state = 'done', lease_until = NULL, next_at = NULL, finished_at = $2, last_error = NULL WHERE id = ANY ($1::bigint[])
