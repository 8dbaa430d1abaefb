-- The claim ledger in a database of your own, version 1. It may stand in your migrations as it is; it changes nothing that is there.

CREATE TABLE IF NOT EXISTS onceward_claims (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project     bigint NOT NULL,
  scope       text COLLATE "C" NOT NULL,
  key         text COLLATE "C" NOT NULL,
  hash        bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32), -- of project, scope and key
  work_hash   bytea,                                                 -- of the content; NULL: not compared
  policy      text COLLATE "C" NOT NULL CHECK (policy IN ('idempotent', 'once')),
  state       text COLLATE "C" NOT NULL CHECK (state IN ('new', 'claimed', 'started', 'retry', 'done', 'failed', 'stuck')),
  fence       bigint NOT NULL DEFAULT 0 CHECK (fence >= 0),          -- of the newest grant; only grows
  begun       bigint NOT NULL DEFAULT 0 CHECK (begun >= 0 AND begun <= fence),
  attempt     int NOT NULL DEFAULT 0 CHECK (attempt >= 0),
  tries       int NOT NULL DEFAULT 0 CHECK (tries >= 0),
  max_tries   int NOT NULL CHECK (max_tries > 0),
  ambiguous   boolean NOT NULL DEFAULT false,                        -- some try may have taken effect
  grant_id    text COLLATE "C",
  owner       text,
  lease_until timestamptz,
  next_at     timestamptz,
  finished_at timestamptz,
  first_at    timestamptz,
  window_s    float8 CHECK (window_s > 0),                           -- NULL: the receiver remembers the key for ever
  keep_s      float8 CHECK (keep_s > 0),                             -- NULL: 90 days
  forget_at   timestamptz,                                           -- of what is done or failed: until when it is remembered
  origin_at   timestamptz NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now(),
  result      bytea,
  last_error  text,
  CHECK ((state IN ('claimed', 'started')) = (lease_until IS NOT NULL)),
  CHECK ((state = 'retry') = (next_at IS NOT NULL)),
  CHECK ((state IN ('done', 'failed')) = (finished_at IS NOT NULL)),
  CHECK ((finished_at IS NULL) = (forget_at IS NULL)),
  CHECK (state <> 'new' OR fence = 0),
  CHECK (state <> 'claimed' OR policy = 'once')
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX IF NOT EXISTS onceward_claims_lease ON onceward_claims (lease_until) WHERE state IN ('claimed', 'started');
CREATE INDEX IF NOT EXISTS onceward_claims_window ON onceward_claims (first_at) WHERE state = 'retry' AND ambiguous AND window_s IS NOT NULL;
CREATE INDEX IF NOT EXISTS onceward_claims_origin ON onceward_claims (origin_at) WHERE state = 'retry';
CREATE INDEX IF NOT EXISTS onceward_claims_forget ON onceward_claims (forget_at) WHERE state IN ('done', 'failed');
CREATE INDEX IF NOT EXISTS onceward_claims_stuck ON onceward_claims (project, scope, id) WHERE state IN ('failed', 'stuck');

-- What a claim went through: grants, outcomes, a person's acts, the words of workers that were fenced out.
CREATE TABLE IF NOT EXISTS onceward_claim_notes (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  claim_id bigint NOT NULL,
  at       timestamptz NOT NULL,
  what     text NOT NULL,
  fence    bigint NOT NULL,
  who      text,
  detail   text
);
CREATE INDEX IF NOT EXISTS onceward_claim_notes_claim ON onceward_claim_notes (claim_id, id);
