-- A redrive's rate holds over restarts.
ALTER TABLE redrives ADD COLUMN paced_at INTEGER NOT NULL DEFAULT 0; -- up to when its rate is used up
-- Of deliveries one redrive at a time is at an endpoint, not in a project.
DROP INDEX redrives_running;
CREATE UNIQUE INDEX redrives_running ON redrives (project, queue) WHERE state = 'running' AND queue <> 1;
CREATE INDEX redrives_stepped ON redrives (id) WHERE state = 'running';
CREATE INDEX redrives_over ON redrives (finished_at) WHERE finished_at IS NOT NULL;

-- A redrive's parts, an endpoint each, are kept as long as it is. One that ran when this came ends here: what it had not moved is left.
DROP TABLE redrive_parts;
UPDATE redrives SET state = 'cancelled', finished_at = created_at, total = max(total, moved + left_behind), left_behind = max(total, moved + left_behind) - moved
WHERE queue = 1 AND state = 'running';
CREATE TABLE redrive_parts (
  redrive     INTEGER NOT NULL,
  endpoint    INTEGER NOT NULL,
  state       TEXT NOT NULL CHECK (state IN ('waiting', 'canary', 'open', 'ended', 'refused', 'disabled', 'deleted', 'cancelled')),
  canary      INTEGER, -- the delivery that went first
  last_id     INTEGER NOT NULL DEFAULT 0, -- the dead letter looked at last
  total       INTEGER NOT NULL,
  moved       INTEGER NOT NULL DEFAULT 0,
  left_behind INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (redrive, endpoint),
  CHECK (moved + left_behind <= total),
  CHECK (state IN ('waiting', 'canary', 'open') OR moved + left_behind = total)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX redrive_parts_running ON redrive_parts (endpoint) WHERE state IN ('waiting', 'canary', 'open');
