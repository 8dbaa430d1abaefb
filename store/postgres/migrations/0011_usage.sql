-- What projects are charged, in billionths of a US dollar. Each publish that has a price adds a row of its own to the deltas, in its own
-- transaction; one process folds them once a second. Exact at any time: the folded and the unfolded together.
ALTER TABLE projects
  ADD COLUMN spent        bigint NOT NULL DEFAULT 0 CHECK (spent >= 0),
  ADD COLUMN credit_limit bigint CHECK (credit_limit >= 0);
CREATE TABLE usage_deltas (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project  bigint NOT NULL,
  day      date NOT NULL,
  messages bigint NOT NULL CHECK (messages > 0),
  cost     bigint NOT NULL CHECK (cost > 0)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX usage_deltas_project ON usage_deltas (project);
CREATE TABLE usage_days (
  project  bigint NOT NULL REFERENCES projects,
  day      date NOT NULL,
  messages bigint NOT NULL,
  cost     bigint NOT NULL,
  PRIMARY KEY (project, day)
) WITH (fillfactor = 50);
