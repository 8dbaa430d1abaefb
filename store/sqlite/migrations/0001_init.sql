-- All times are the database's clock. No foreign keys on the hot tables: each would take a KEY SHARE lock on one
-- parent row per insert. Locks are always taken queues -> keys -> claims -> messages -> groups, each by id.

CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL);

CREATE TABLE projects (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL
) STRICT;
INSERT INTO projects (name) VALUES ('default');

CREATE TABLE keys (
  id         INTEGER PRIMARY KEY,
  project    INTEGER NOT NULL REFERENCES projects,
  name       TEXT NOT NULL,
  hash       BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  scopes     TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT;

CREATE TABLE queues (
  id              INTEGER PRIMARY KEY,
  project         INTEGER NOT NULL, -- 0: the server's own
  name            TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
  dlq             INTEGER REFERENCES queues,
  is_dlq          INTEGER NOT NULL DEFAULT 0, -- some queue dead-letters into it
  grouped         INTEGER NOT NULL DEFAULT 0, -- it has had a group: a receive then looks at them
  max_receives    INTEGER NOT NULL CHECK (max_receives BETWEEN 1 AND 32767),
  visibility_s    REAL NOT NULL CHECK (visibility_s > 0),
  retention_s     REAL NOT NULL CHECK (retention_s > 0),
  dedup_window_s  REAL NOT NULL CHECK (dedup_window_s > 0),
  require_receipt INTEGER NOT NULL DEFAULT 0,
  paused          INTEGER NOT NULL DEFAULT 0,
  created_at      INTEGER NOT NULL,
  UNIQUE (project, name),
  CHECK (dlq IS NULL OR NOT is_dlq)
) STRICT;
-- The deliveries of webhooks. A dead one is kept until its claim is forgotten.
INSERT INTO queues (id, project, name, is_dlq, max_receives, visibility_s, retention_s, dedup_window_s)
  VALUES (2, 0, '_deliveries-dlq', true, 32767, 30, 3155760000, 86400);
INSERT INTO queues (id, project, name, dlq, grouped, max_receives, visibility_s, retention_s, dedup_window_s)
  VALUES (1, 0, '_deliveries', 2, true, 1000, 30, 2592000, 86400);

-- A group is an endpoint's deliveries (same id as the endpoint) or a fair group of a queue.
--  next_at   since when (or from when) it waits for its turn; NULL = nothing waits. A visit sends it to the tail (now()).
--  in_flight = the number of its messages with leased = true, always: every statement that turns leased changes it too.
--  wake_xid  the last transaction that may have added work; a receive parks a group only if it could see that transaction.
CREATE TABLE groups (
  id         INTEGER PRIMARY KEY,
  queue      INTEGER NOT NULL,
  name       TEXT NOT NULL,
  slots      INTEGER NOT NULL CHECK (slots > 0), -- of a fair group: no limit, 2147483647
  in_flight  INTEGER NOT NULL DEFAULT 0 CHECK (in_flight >= 0),
  disabled   INTEGER NOT NULL DEFAULT 0,
  hold_s     REAL NOT NULL DEFAULT 0,      -- of an endpoint: its time-out, to which a lease adds its slack
  next_at    INTEGER,
  wake_xid   xid8 NOT NULL DEFAULT pg_current_xact_id(),
  runnable   INTEGER NOT NULL GENERATED ALWAYS AS (NOT disabled AND in_flight < slots AND next_at IS NOT NULL) STORED,
  UNIQUE (queue, name)
) STRICT;
CREATE INDEX groups_turn ON groups (queue, next_at, id) WHERE runnable;

CREATE TABLE messages (
  id           INTEGER PRIMARY KEY,
  project      INTEGER NOT NULL,
  queue        INTEGER NOT NULL,
  gid          INTEGER,
  prio         INTEGER NOT NULL DEFAULT 0 CHECK (prio BETWEEN 0 AND 9),
  receives     INTEGER NOT NULL DEFAULT 0 CHECK (receives >= 0),
  max_receives INTEGER NOT NULL CHECK (max_receives >= 1), -- copied at publish; 32767: never dead-lettered
  lease_no     INTEGER NOT NULL DEFAULT 0 CHECK (lease_no >= 0), -- only grows
  leased       INTEGER NOT NULL DEFAULT 0,
  receipt_open INTEGER NOT NULL DEFAULT 0,
  vis          INTEGER NOT NULL,                         -- delay over / lease over
  published_at INTEGER NOT NULL,
  origin_at    INTEGER NOT NULL,
  received_at  INTEGER,
  expires_at   INTEGER NOT NULL,
  retention_s  REAL NOT NULL,
  claim_id     INTEGER,
  source_queue INTEGER, source_gid INTEGER, dead_at INTEGER, -- dead-lettered: where it goes back to
  last_error   TEXT,
  CHECK (NOT leased OR receipt_open),
  CHECK (NOT receipt_open OR lease_no > 0 AND received_at IS NOT NULL),
  CHECK ((dead_at IS NULL) = (source_queue IS NULL)),
  CHECK (dead_at IS NULL OR gid IS NULL)
) STRICT;
-- ungrouped: exactly the order asked for; leased rows stay in it, at their lease's end
CREATE INDEX messages_plain ON messages (queue, prio, vis, id) WHERE gid IS NULL;
-- grouped, waiting
CREATE INDEX messages_group ON messages (gid, prio, vis, id) WHERE gid IS NOT NULL AND NOT leased;
-- leases of grouped messages (their slot must come back), and last tries (they must be dead-lettered)
CREATE INDEX messages_lease ON messages (vis) WHERE leased AND dead_at IS NULL AND (gid IS NOT NULL OR receives >= max_receives);
-- lists, the oldest's age, purge
CREATE INDEX messages_queue ON messages (queue, id);
-- dead letters by where they came from
CREATE INDEX messages_dead ON messages (source_queue, id) WHERE dead_at IS NOT NULL;
CREATE INDEX messages_dead_group ON messages (source_gid, id) WHERE dead_at IS NOT NULL AND source_gid IS NOT NULL;

-- written once, deleted once; deliveries have none (the payload is their event's)
CREATE TABLE bodies (
  id      INTEGER PRIMARY KEY,
  body    BLOB NOT NULL CHECK (length(body) <= 262144),
  headers TEXT
) STRICT;

-- by the queue's name, so that a replay is answered though the queue is gone or made anew
CREATE TABLE publish_keys (
  project      INTEGER NOT NULL,
  queue        TEXT NOT NULL,
  key          TEXT NOT NULL CHECK (length(key) BETWEEN 1 AND 300),
  hash         BLOB NOT NULL CHECK (length(hash) = 32),
  message_id   INTEGER NOT NULL,
  published_at INTEGER NOT NULL,
  visible_at   INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL,
  PRIMARY KEY (project, queue, key)
) STRICT;
CREATE INDEX publish_keys_expiry ON publish_keys (expires_at);

CREATE TABLE request_keys (
  project    INTEGER NOT NULL,
  scope      TEXT NOT NULL, -- method and path
  key        TEXT NOT NULL,
  hash       BLOB NOT NULL CHECK (length(hash) = 32),
  answer     BLOB,
  event      INTEGER, -- of an event's publish: its row, from which the answer is made again
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (project, scope, key)
) STRICT;
CREATE INDEX request_keys_expiry ON request_keys (expires_at);

-- The claim ledger: one logical table in two parts. A delivery's claim is made with the delivery (state 'new'), so that a claim
-- is an update by id that never waits; a worker's own keys are made by their first claim.
CREATE TABLE claims (
  id          INTEGER NOT NULL,
  kind        TEXT NOT NULL CHECK (kind IN ('d', 'w')),
  project     INTEGER NOT NULL,
  scope       TEXT,  -- NULL: webhook
  key         TEXT,  -- NULL for a delivery
  hash        BLOB NOT NULL CHECK (length(hash) = 32),
  work_hash   BLOB CHECK (length(work_hash) = 32),
  policy      TEXT NOT NULL CHECK (policy IN ('i', 'o')),
  state       TEXT NOT NULL CHECK (state IN ('new', 'claimed', 'started', 'retry', 'done', 'failed', 'stuck')),
  fence       INTEGER NOT NULL DEFAULT 0 CHECK (fence >= 0),
  begun       INTEGER NOT NULL DEFAULT 0 CHECK (begun >= 0 AND begun <= fence),
  attempt     INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
  tries       INTEGER NOT NULL DEFAULT 0 CHECK (tries >= 0),
  max_tries   INTEGER NOT NULL CHECK (max_tries > 0),
  ambiguous   INTEGER NOT NULL DEFAULT 0,
  grant_id    TEXT, owner TEXT,
  lease_until INTEGER, next_at INTEGER, finished_at INTEGER,
  first_at    INTEGER,
  window_s    REAL CHECK (window_s > 0), -- NULL: the receiver remembers for ever
  origin_at   INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  message_id  INTEGER, lease_no INTEGER NOT NULL DEFAULT 0,
  result      BLOB, last_error TEXT,
  PRIMARY KEY (id, kind),
  CHECK ((state IN ('claimed', 'started')) = (lease_until IS NOT NULL)),
  CHECK ((state = 'retry') = (next_at IS NOT NULL)),
  CHECK ((state IN ('done', 'failed')) = (finished_at IS NOT NULL)),
  CHECK (state <> 'new' OR fence = 0),
  CHECK (state <> 'claimed' OR policy = 'o')
) PARTITION BY LIST (kind);
-- No index here on a column that changes, not even a partial one: with one no update of the row is HOT. Deliveries need
-- none: their message brings them back. Expiry goes by id, in pages.
CREATE TABLE delivery_claims PARTITION OF claims FOR VALUES IN ('d')
  WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE TABLE worker_claims PARTITION OF claims FOR VALUES IN ('w')
  WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE UNIQUE INDEX claims_hash ON claims (hash, kind);
CREATE INDEX worker_claims_lease ON worker_claims (lease_until) WHERE state IN ('claimed', 'started');
CREATE INDEX worker_claims_window ON worker_claims (first_at) WHERE state = 'retry' AND ambiguous AND window_s IS NOT NULL;
CREATE INDEX worker_claims_origin ON worker_claims (origin_at) WHERE state = 'retry';
CREATE INDEX worker_claims_finished ON worker_claims (finished_at) WHERE state IN ('done', 'failed');

-- what a claim went through beside its attempts: a person's acts, the words of workers fenced out; of a worker's key also grants and outcomes
CREATE TABLE claim_notes (
  id       INTEGER PRIMARY KEY,
  claim_id INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  what     TEXT NOT NULL,
  fence    INTEGER NOT NULL,
  who      TEXT,
  detail   TEXT
) STRICT;
CREATE INDEX claim_notes_claim ON claim_notes (claim_id, id);

CREATE TABLE endpoints (
  id            INTEGER PRIMARY KEY, -- its group's
  project       INTEGER NOT NULL,
  tenant        TEXT,
  url           TEXT NOT NULL,
  event_types   TEXT NOT NULL,
  description   TEXT NOT NULL DEFAULT '',
  headers       TEXT,
  secrets       TEXT NOT NULL, -- [{sealed, expires_at}], the newest first; sealed with the server's key
  timeout_s     REAL NOT NULL CHECK (timeout_s > 0),
  ladder        TEXT NOT NULL, -- seconds
  retry_4xx     INTEGER NOT NULL,
  policy        TEXT NOT NULL CHECK (policy IN ('i', 'o')),
  window_s      REAL CHECK (window_s > 0),
  max_in_flight INTEGER NOT NULL CHECK (max_in_flight > 0),
  rate          REAL,
  disabled      INTEGER NOT NULL DEFAULT 0,
  reason        TEXT,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  deleted_at    INTEGER -- what waits is being cancelled
) STRICT;
CREATE INDEX endpoints_tenant ON endpoints (project, tenant) WHERE deleted_at IS NULL;

CREATE TABLE events (
  id         INTEGER PRIMARY KEY,
  project    INTEGER NOT NULL,
  event_id   TEXT NOT NULL,
  type       TEXT NOT NULL,
  tenant     TEXT,
  subject    TEXT,
  hash       BLOB NOT NULL CHECK (length(hash) = 32),
  payload    BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (project, event_id)
) STRICT;

CREATE TABLE deliveries (
  id           INTEGER PRIMARY KEY,
  project      INTEGER NOT NULL,
  event        INTEGER NOT NULL,
  endpoint     INTEGER NOT NULL,
  claim_id     INTEGER NOT NULL,              -- of its newest send
  sends        INTEGER NOT NULL DEFAULT 1,
  key_send     INTEGER NOT NULL DEFAULT 0,       -- the send whose number is part of the delivery key; 0: none
  cause        TEXT NOT NULL DEFAULT 'event', -- of the next first try
  ladder       TEXT NOT NULL,
  attempt_base INTEGER NOT NULL DEFAULT 0,       -- grants of former sends
  created_at   INTEGER NOT NULL,
  cancelled_at INTEGER,
  UNIQUE (event, endpoint)
) STRICT;
CREATE INDEX deliveries_endpoint ON deliveries (endpoint, id);
CREATE INDEX deliveries_claim ON deliveries (claim_id);

CREATE TABLE attempts (
  id              INTEGER PRIMARY KEY,
  delivery        INTEGER NOT NULL,
  claim_id        INTEGER NOT NULL,
  fence           INTEGER NOT NULL,
  attempt         INTEGER NOT NULL,
  cause           TEXT NOT NULL CHECK (cause IN ('event', 'retry', 'resend', 'redrive', 'canary')),
  started_at      INTEGER NOT NULL,
  finished_at     INTEGER NOT NULL,
  outcome         TEXT NOT NULL CHECK (outcome IN ('delivered', 'refused', 'unknown', 'not_sent')),
  class           TEXT,
  status_code     INTEGER,
  latency_ms      REAL,
  response_start  BLOB,
  error           TEXT,
  next_attempt_at INTEGER
) STRICT;
CREATE INDEX attempts_delivery ON attempts (delivery, id);

CREATE TABLE redrives (
  id          INTEGER PRIMARY KEY,
  project     INTEGER NOT NULL,
  queue       INTEGER NOT NULL, -- the source; 1: deliveries
  filter      TEXT NOT NULL,
  rate        REAL NOT NULL DEFAULT 0,
  canary      INTEGER NOT NULL DEFAULT 0,
  dry_run     INTEGER NOT NULL DEFAULT 0,
  state       TEXT NOT NULL CHECK (state IN ('running', 'completed', 'cancelled')),
  total       INTEGER NOT NULL DEFAULT 0,
  moved       INTEGER NOT NULL DEFAULT 0,
  left_behind INTEGER NOT NULL DEFAULT 0,
  last_id     INTEGER NOT NULL DEFAULT 0, -- the dead letter looked at last
  who         TEXT,
  created_at  INTEGER NOT NULL,
  finished_at INTEGER
) STRICT;
CREATE UNIQUE INDEX redrives_running ON redrives (project, queue) WHERE state = 'running';

-- a redrive's parts: an endpoint with its canary
CREATE TABLE redrive_parts (
  redrive  INTEGER NOT NULL,
  endpoint INTEGER NOT NULL,
  canary   INTEGER, -- the delivery that went first
  state    TEXT NOT NULL CHECK (state IN ('waiting', 'open', 'refused')),
  PRIMARY KEY (redrive, endpoint)
) STRICT;
