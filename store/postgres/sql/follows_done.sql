-- $1 ids: what is done, and what is left of keys that are gone
DELETE FROM follows f WHERE f.id = ANY ($1::bigint[]) OR NOT EXISTS (SELECT 1 FROM worker_claims c WHERE c.id = f.claim)
