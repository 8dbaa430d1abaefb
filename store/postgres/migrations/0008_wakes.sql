-- A message published inside somebody's own transaction, which may stay open for minutes: its group's row cannot be locked so long, nor one made. So the
-- message has gid -1, which no group has, and a row here says for which group it waits. The next receive of the queue, or the sweep, gives it its group,
-- in a transaction of its own. Only inserted and deleted, never changed.
CREATE TABLE wakes (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  queue   bigint NOT NULL,
  name    text COLLATE "C" NOT NULL, -- the group's
  message bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX wakes_queue ON wakes (queue, id);
CREATE INDEX wakes_message ON wakes (message);
