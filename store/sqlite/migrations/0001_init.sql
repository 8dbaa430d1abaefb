-- Times are INTEGER microseconds of Unix time, always given by the one process that writes: SQL's own clock is never read.
-- Spans are REAL seconds, lists and maps are JSON text, truths are 0 and 1. One writer at a time, so no lock order.
-- Ids come from the sequences in meta, which never go back.

CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT;
INSERT INTO meta (name, value) VALUES ('seq_keys', 1), ('seq_queues', 16), ('seq_groups', 1), ('seq_messages', 1), ('seq_claims', 1),
  ('seq_notes', 1), ('seq_events', 1), ('seq_deliveries', 1), ('seq_attempts', 1), ('seq_redrives', 1);

CREATE TABLE projects (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL
) STRICT;
INSERT INTO projects (id, name, created_at) VALUES (1, 'default', 0);

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
  is_dlq          INTEGER NOT NULL DEFAULT 0 CHECK (is_dlq IN (0, 1)), -- some queue dead-letters into it
  grouped         INTEGER NOT NULL DEFAULT 0 CHECK (grouped IN (0, 1)), -- it has had a group: a receive then looks at them
  plain_turn      INTEGER NOT NULL DEFAULT 0, -- the ungrouped messages take turns as one more group: since when they wait for theirs
  max_receives    INTEGER NOT NULL CHECK (max_receives BETWEEN 1 AND 32767),
  visibility_s    REAL NOT NULL CHECK (visibility_s > 0),
  retention_s     REAL NOT NULL CHECK (retention_s > 0),
  dedup_window_s  REAL NOT NULL CHECK (dedup_window_s > 0),
  require_receipt INTEGER NOT NULL DEFAULT 0 CHECK (require_receipt IN (0, 1)),
  paused          INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
  created_at      INTEGER NOT NULL,
  UNIQUE (project, name),
  CHECK (dlq IS NULL OR NOT is_dlq)
) STRICT;
-- The deliveries of webhooks. A dead one is kept until its claim is forgotten.
INSERT INTO queues (id, project, name, is_dlq, max_receives, visibility_s, retention_s, dedup_window_s, created_at)
  VALUES (2, 0, '_deliveries-dlq', 1, 32767, 30, 3155760000, 86400, 0);
INSERT INTO queues (id, project, name, dlq, grouped, max_receives, visibility_s, retention_s, dedup_window_s, created_at)
  VALUES (1, 0, '_deliveries', 2, 1, 1000, 30, 2592000, 86400, 0);

-- A group is an endpoint's deliveries (same id as the endpoint) or a fair group of a queue.
--  next_at   since when (or from when) it waits for its turn; NULL = nothing waits. A visit sends it to the tail.
--  in_flight = the number of its messages with leased = 1, always: whatever turns leased changes it too.
CREATE TABLE groups (
  id         INTEGER PRIMARY KEY,
  queue      INTEGER NOT NULL,
  name       TEXT NOT NULL,
  slots      INTEGER NOT NULL CHECK (slots > 0), -- of a fair group: no limit, 2147483647
  in_flight  INTEGER NOT NULL DEFAULT 0 CHECK (in_flight >= 0),
  disabled   INTEGER NOT NULL DEFAULT 0 CHECK (disabled IN (0, 1)),
  hold_s     REAL NOT NULL DEFAULT 0,      -- of an endpoint: its time-out, to which a lease adds its slack
  next_at    INTEGER,
  runnable   INTEGER NOT NULL GENERATED ALWAYS AS (NOT disabled AND in_flight < slots AND next_at IS NOT NULL) VIRTUAL,
  UNIQUE (queue, name)
) STRICT;
CREATE INDEX groups_turn ON groups (queue, next_at, id) WHERE NOT disabled AND in_flight < slots AND next_at IS NOT NULL;

CREATE TABLE messages (
  id           INTEGER PRIMARY KEY,
  project      INTEGER NOT NULL,
  queue        INTEGER NOT NULL,
  gid          INTEGER,
  prio         INTEGER NOT NULL DEFAULT 0 CHECK (prio BETWEEN 0 AND 9),
  receives     INTEGER NOT NULL DEFAULT 0 CHECK (receives >= 0),
  max_receives INTEGER NOT NULL CHECK (max_receives >= 1), -- copied at publish; 32767: never dead-lettered
  lease_no     INTEGER NOT NULL DEFAULT 0 CHECK (lease_no >= 0), -- only grows
  leased       INTEGER NOT NULL DEFAULT 0 CHECK (leased IN (0, 1)),
  receipt_open INTEGER NOT NULL DEFAULT 0 CHECK (receipt_open IN (0, 1)),
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
CREATE INDEX messages_group ON messages (gid, prio, vis, id) WHERE gid IS NOT NULL AND leased = 0;
-- leases: they run out, and count as in flight
CREATE INDEX messages_leased ON messages (queue, vis) WHERE leased = 1;
-- put off by a delay or a nack; most messages never enter it
CREATE INDEX messages_delayed ON messages (queue, vis) WHERE leased = 0 AND vis > published_at;
-- lists, the oldest's age, purge
CREATE INDEX messages_queue ON messages (queue, id);
-- dead letters by where they came from
CREATE INDEX messages_dead ON messages (source_queue, id) WHERE dead_at IS NOT NULL;
CREATE INDEX messages_dead_group ON messages (source_gid, id) WHERE dead_at IS NOT NULL AND source_gid IS NOT NULL;

-- Kept counts, so that no depth of a queue costs a count of its rows. Triggers keep them in the transaction that changes messages.
--  total   messages in the queue            leased   of them those with leased = 1
--  dead    dead letters that came from it   dead_here  dead letters that are in it
CREATE TABLE counts (
  queue     INTEGER PRIMARY KEY,
  total     INTEGER NOT NULL DEFAULT 0,
  leased    INTEGER NOT NULL DEFAULT 0,
  dead      INTEGER NOT NULL DEFAULT 0,
  dead_here INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO counts (queue) VALUES (1), (2);
-- How many of its messages are put off until a second. What is over counts nothing any more and is swept.
CREATE TABLE delay_counts (
  queue INTEGER NOT NULL,
  due_s INTEGER NOT NULL,
  n     INTEGER NOT NULL,
  PRIMARY KEY (queue, due_s)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER queues_counted AFTER INSERT ON queues BEGIN
  INSERT INTO counts (queue) VALUES (NEW.id);
END;
CREATE TRIGGER messages_in AFTER INSERT ON messages BEGIN
  UPDATE counts SET total = total + 1, leased = leased + NEW.leased WHERE queue = NEW.queue;
END;
CREATE TRIGGER messages_out AFTER DELETE ON messages BEGIN
  UPDATE counts SET total = total - 1, leased = leased - OLD.leased WHERE queue = OLD.queue;
END;
CREATE TRIGGER messages_dead_out AFTER DELETE ON messages WHEN OLD.dead_at IS NOT NULL BEGIN
  UPDATE counts SET dead = dead - 1 WHERE queue = OLD.source_queue;
  UPDATE counts SET dead_here = dead_here - 1 WHERE queue = OLD.queue;
END;
CREATE TRIGGER messages_lease_turned AFTER UPDATE OF leased ON messages WHEN OLD.queue = NEW.queue AND OLD.leased <> NEW.leased BEGIN
  UPDATE counts SET leased = leased + NEW.leased - OLD.leased WHERE queue = NEW.queue;
END;
CREATE TRIGGER messages_moved AFTER UPDATE OF queue ON messages WHEN OLD.queue <> NEW.queue BEGIN
  UPDATE counts SET total = total - 1, leased = leased - OLD.leased, dead_here = dead_here - (OLD.dead_at IS NOT NULL) WHERE queue = OLD.queue;
  UPDATE counts SET total = total + 1, leased = leased + NEW.leased, dead_here = dead_here + (NEW.dead_at IS NOT NULL) WHERE queue = NEW.queue;
  UPDATE counts SET dead = dead - 1 WHERE queue = OLD.source_queue;
  UPDATE counts SET dead = dead + 1 WHERE queue = NEW.source_queue;
END;
CREATE TRIGGER messages_delay_in AFTER INSERT ON messages WHEN NEW.leased = 0 AND NEW.vis > NEW.published_at BEGIN
  INSERT INTO delay_counts (queue, due_s, n) VALUES (NEW.queue, NEW.vis / 1000000, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER messages_delay_out AFTER DELETE ON messages WHEN OLD.leased = 0 AND OLD.vis > OLD.published_at BEGIN
  UPDATE delay_counts SET n = n - 1 WHERE queue = OLD.queue AND due_s = OLD.vis / 1000000;
END;
CREATE TRIGGER messages_delay_over AFTER UPDATE OF vis, leased, queue ON messages WHEN OLD.leased = 0 AND OLD.vis > OLD.published_at BEGIN
  UPDATE delay_counts SET n = n - 1 WHERE queue = OLD.queue AND due_s = OLD.vis / 1000000;
END;
CREATE TRIGGER messages_delay_begun AFTER UPDATE OF vis, leased, queue ON messages WHEN NEW.leased = 0 AND NEW.vis > NEW.published_at BEGIN
  INSERT INTO delay_counts (queue, due_s, n) VALUES (NEW.queue, NEW.vis / 1000000, 1) ON CONFLICT DO UPDATE SET n = n + 1;
END;

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
) STRICT, WITHOUT ROWID;
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
) STRICT, WITHOUT ROWID;
CREATE INDEX request_keys_expiry ON request_keys (expires_at);

-- The claim ledger. A delivery's claim (kind 'd') is made with the delivery, in state 'new'; a worker's own key (kind 'w') by its
-- first claim. Deliveries need none of the partial indexes: their message brings them back.
CREATE TABLE claims (
  id          INTEGER PRIMARY KEY,
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
  ambiguous   INTEGER NOT NULL DEFAULT 0 CHECK (ambiguous IN (0, 1)),
  grant_id    TEXT, owner TEXT,
  lease_until INTEGER, next_at INTEGER, finished_at INTEGER,
  first_at    INTEGER,
  window_s    REAL CHECK (window_s > 0), -- NULL: the receiver remembers for ever
  origin_at   INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  message_id  INTEGER, lease_no INTEGER NOT NULL DEFAULT 0,
  result      BLOB, last_error TEXT,
  CHECK ((state IN ('claimed', 'started')) = (lease_until IS NOT NULL)),
  CHECK ((state = 'retry') = (next_at IS NOT NULL)),
  CHECK ((state IN ('done', 'failed')) = (finished_at IS NOT NULL)),
  CHECK (state <> 'new' OR fence = 0),
  CHECK (state <> 'claimed' OR policy = 'o')
) STRICT;
CREATE UNIQUE INDEX claims_hash ON claims (hash, kind);
CREATE INDEX claims_lease ON claims (lease_until) WHERE kind = 'w' AND lease_until IS NOT NULL;
CREATE INDEX claims_window ON claims (first_at) WHERE kind = 'w' AND state = 'retry' AND ambiguous = 1 AND window_s IS NOT NULL;
CREATE INDEX claims_origin ON claims (origin_at) WHERE kind = 'w' AND state = 'retry';
CREATE INDEX claims_finished ON claims (kind, finished_at) WHERE finished_at IS NOT NULL;

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
  retry_4xx     INTEGER NOT NULL CHECK (retry_4xx IN (0, 1)),
  policy        TEXT NOT NULL CHECK (policy IN ('i', 'o')),
  window_s      REAL CHECK (window_s > 0),
  max_in_flight INTEGER NOT NULL CHECK (max_in_flight > 0),
  rate          REAL,
  disabled      INTEGER NOT NULL DEFAULT 0 CHECK (disabled IN (0, 1)),
  reason        TEXT,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  deleted_at    INTEGER -- what waits is being cancelled
) STRICT;
CREATE INDEX endpoints_tenant ON endpoints (project, tenant) WHERE deleted_at IS NULL;
CREATE INDEX endpoints_deleted ON endpoints (id) WHERE deleted_at IS NOT NULL;

CREATE TABLE events (
  id         INTEGER PRIMARY KEY,
  project    INTEGER NOT NULL,
  event_id   TEXT NOT NULL,
  type       TEXT NOT NULL,
  tenant     TEXT,
  subject    TEXT,
  hash       BLOB NOT NULL CHECK (length(hash) = 32),
  created_at INTEGER NOT NULL,
  payload    BLOB NOT NULL, -- last: a list never reads past it
  UNIQUE (project, event_id)
) STRICT;
CREATE INDEX events_project ON events (project, id);

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
CREATE INDEX deliveries_project ON deliveries (project, id);
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
  name        TEXT,             -- the source's, as it was called at its start; NULL: deliveries
  filter      TEXT NOT NULL,
  rate        REAL NOT NULL DEFAULT 0,
  canary      INTEGER NOT NULL DEFAULT 0 CHECK (canary IN (0, 1)),
  dry_run     INTEGER NOT NULL DEFAULT 0 CHECK (dry_run IN (0, 1)),
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

-- A redrive of deliveries goes endpoint by endpoint. A part waits for the outcome of its canary, the delivery that went first, or is
-- open: its dead letters after after_id go, n of them at most. A part that is over has no row.
CREATE TABLE redrive_parts (
  redrive  INTEGER NOT NULL,
  endpoint INTEGER NOT NULL,
  state    TEXT NOT NULL CHECK (state IN ('waiting', 'open')),
  canary   INTEGER,
  after_id INTEGER NOT NULL DEFAULT 0,
  n        INTEGER NOT NULL CHECK (n >= 0), -- of those that the redrive concerns, not yet moved or left
  PRIMARY KEY (redrive, endpoint)
) STRICT, WITHOUT ROWID;
