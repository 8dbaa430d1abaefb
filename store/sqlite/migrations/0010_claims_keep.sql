-- How long a key is remembered once it is done or failed, where that is not the ledger's memory.
ALTER TABLE claims ADD COLUMN keep_s REAL;
CREATE INDEX claims_keep ON claims (finished_at + keep_s * 1e6) WHERE kind = 'w' AND keep_s IS NOT NULL AND finished_at IS NOT NULL;
