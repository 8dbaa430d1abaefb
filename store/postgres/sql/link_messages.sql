-- $1 messages that this transaction has locked, $2 the claims that they carry from now on
UPDATE messages m SET claim_id = u.claim_id FROM unnest($1::bigint[], $2::bigint[]) AS u(id, claim_id) WHERE m.id = ANY (ARRAY[u.id])
