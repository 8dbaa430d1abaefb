-- The claim ledger in a database of your own, version 1. It may stand in your migrations as it is; it changes nothing that is there.
-- Times are microseconds since 1970.

CREATE TABLE IF NOT EXISTS onceward_claims (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  project     INTEGER NOT NULL,
  scope       TEXT NOT NULL,
  key         TEXT NOT NULL,
  hash        BLOB NOT NULL UNIQUE CHECK (length(hash) = 32), -- of project, scope and key
  work_hash   BLOB,                                           -- of the content; NULL: not compared
  policy      TEXT NOT NULL CHECK (policy IN ('idempotent', 'once')),
  state       TEXT NOT NULL CHECK (state IN ('new', 'claimed', 'started', 'retry', 'done', 'failed', 'stuck')),
  fence       INTEGER NOT NULL DEFAULT 0 CHECK (fence >= 0),  -- of the newest grant; only grows
  begun       INTEGER NOT NULL DEFAULT 0 CHECK (begun >= 0 AND begun <= fence),
  attempt     INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
  tries       INTEGER NOT NULL DEFAULT 0 CHECK (tries >= 0),
  max_tries   INTEGER NOT NULL CHECK (max_tries > 0),
  ambiguous   INTEGER NOT NULL DEFAULT 0,                     -- some try may have taken effect
  grant_id    TEXT,
  owner       TEXT,
  lease_until INTEGER,
  next_at     INTEGER,
  finished_at INTEGER,
  first_at    INTEGER,
  window_s    REAL CHECK (window_s > 0),                      -- NULL: the receiver remembers the key for ever
  keep_s      REAL CHECK (keep_s > 0),                        -- NULL: 90 days
  forget_at   INTEGER,                                        -- of what is done or failed: until when it is remembered
  origin_at   INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  result      BLOB,
  last_error  TEXT,
  CHECK ((state IN ('claimed', 'started')) = (lease_until IS NOT NULL)),
  CHECK ((state = 'retry') = (next_at IS NOT NULL)),
  CHECK ((state IN ('done', 'failed')) = (finished_at IS NOT NULL)),
  CHECK ((finished_at IS NULL) = (forget_at IS NULL)),
  CHECK (state <> 'new' OR fence = 0),
  CHECK (state <> 'claimed' OR policy = 'once')
) STRICT;

CREATE INDEX IF NOT EXISTS onceward_claims_lease ON onceward_claims (lease_until) WHERE state IN ('claimed', 'started');
CREATE INDEX IF NOT EXISTS onceward_claims_window ON onceward_claims (first_at) WHERE state = 'retry' AND ambiguous AND window_s IS NOT NULL;
CREATE INDEX IF NOT EXISTS onceward_claims_origin ON onceward_claims (origin_at) WHERE state = 'retry';
CREATE INDEX IF NOT EXISTS onceward_claims_forget ON onceward_claims (forget_at) WHERE state IN ('done', 'failed');
CREATE INDEX IF NOT EXISTS onceward_claims_stuck ON onceward_claims (project, scope, id) WHERE state IN ('failed', 'stuck');

-- What a claim went through: grants, outcomes, a person's acts, the words of workers that were fenced out.
CREATE TABLE IF NOT EXISTS onceward_claim_notes (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  claim_id INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  what     TEXT NOT NULL,
  fence    INTEGER NOT NULL,
  who      TEXT,
  detail   TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS onceward_claim_notes_claim ON onceward_claim_notes (claim_id, id);
