-- Where a queue's messages are sent by the server itself.
CREATE TABLE subscriptions (
  id            INTEGER PRIMARY KEY,
  project       INTEGER NOT NULL,
  queue         INTEGER NOT NULL REFERENCES queues ON DELETE CASCADE,
  url           TEXT NOT NULL,
  secret        BLOB NOT NULL, -- sealed with the server's key
  timeout_s     REAL NOT NULL CHECK (timeout_s > 0),
  max_in_flight INTEGER NOT NULL CHECK (max_in_flight > 0),
  created_at    INTEGER NOT NULL,
  UNIQUE (queue, url)
) STRICT;
INSERT INTO meta (name, value) VALUES ('seq_subscriptions', 1);
