-- Where a queue's messages are sent by the servers themselves. One of them works on a subscription at a time.
CREATE TABLE subscriptions (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project       bigint NOT NULL,
  queue         bigint NOT NULL REFERENCES queues ON DELETE CASCADE,
  url           text COLLATE "C" NOT NULL,
  secret        bytea NOT NULL, -- sealed with the server's key
  timeout_s     float8 NOT NULL CHECK (timeout_s > 0),
  max_in_flight int NOT NULL CHECK (max_in_flight > 0),
  created_at    timestamptz NOT NULL DEFAULT now(),
  holder        text,
  held_until    timestamptz,
  UNIQUE (queue, url),
  CHECK ((holder IS NULL) = (held_until IS NULL))
);
