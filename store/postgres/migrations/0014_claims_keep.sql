-- How long a key is remembered once it is done or failed, where that is not the ledger's memory. The index is of when it is over, at no zone's time so that it never moves.
ALTER TABLE claims ADD COLUMN keep_s float8;
CREATE INDEX worker_claims_keep ON worker_claims (((finished_at AT TIME ZONE 'UTC') + keep_s * interval '1 s')) WHERE keep_s IS NOT NULL AND state IN ('done', 'failed');
