-- An index that has id after another column can be read from end to end for an id, and once a queue is drained the planner takes that for the cheapest way: it counts the rows that live, of
-- which there are next to none, and not those that somebody's open transaction keeps. Each settling then passed over all that was ever consumed. An index of a part is asked for by name of the part, so
-- statements by id keep to the primary key; those of a queue say queue > 0, which is so of every queue.
CREATE INDEX messages_of_queue ON messages (queue, id) WHERE queue > 0;
DROP INDEX messages_queue; -- last: it waits for whoever uses the table, and all others wait for it
