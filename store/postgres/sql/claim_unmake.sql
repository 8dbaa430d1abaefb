-- Keys that this transaction made and granted to nobody: $1 claim ids
DELETE FROM worker_claims WHERE id = ANY ($1::bigint[]) AND state = 'new'
