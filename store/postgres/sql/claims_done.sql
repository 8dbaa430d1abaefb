-- Claims of one part of the ledger that this transaction has locked (of the other: claim_alike.go) and that are done: $1 ids, $2 when. They have no result.
UPDATE delivery_claims SET state = 'done', lease_until = NULL, next_at = NULL, finished_at = $2, last_error = NULL WHERE id = ANY ($1::bigint[])
