-- Of what a caller's own transaction publishes: which transaction it is, and how many messages it has published to the project so far.
ALTER TABLE usage_deltas ADD COLUMN xact xid8, ADD COLUMN so_far bigint;
CREATE INDEX usage_deltas_xact ON usage_deltas (xact, project, id) WHERE xact IS NOT NULL;
