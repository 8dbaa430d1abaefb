-- How long a key is remembered once it is done or failed, where that is not the ledger's memory. The index is of when it is over, at no zone's time so that it never moves.
ALTER TABLE claims ADD COLUMN keep_s float8;
CREATE INDEX worker_claims_keep ON worker_claims (((finished_at AT TIME ZONE 'UTC') + keep_s * interval '1 s')) WHERE keep_s IS NOT NULL AND state IN ('done', 'failed');

-- What callers' own transactions said of keys, where the messages that carry them have to follow: l links the message, b goes on with its lease, s settles it, d deletes it: a dead letter of what is done. Whoever
-- locked the message or its group to the caller's commit would hold up others; so the sweep has it follow, in a transaction of its own. Only inserted and deleted.
CREATE TABLE follows (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  claim    bigint NOT NULL,
  message  bigint NOT NULL,
  lease_no int NOT NULL, -- under which the key was claimed
  act      "char" NOT NULL CHECK (act IN ('l', 'b', 's', 'd'))
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX follows_message ON follows (message);
