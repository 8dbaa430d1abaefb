ALTER TABLE queues ADD fifo boolean NOT NULL DEFAULT false, ADD content_dedup boolean NOT NULL DEFAULT false;
-- Of a fifo queue: where a message stands in its group. The lowest is the group's head, in flight or not, and alone can be received. It is given under the
-- group's lock, which is held until the commit: what can be seen of a group has lower places than whatever comes later. NULL: of a standard queue.
ALTER TABLE messages ADD place bigint CHECK (place > 0);
CREATE INDEX messages_fifo ON messages (gid, place) WHERE gid IS NOT NULL AND place IS NOT NULL;
-- Of a fifo group: none of its messages has a lower place. Visits alone write it, under the group's lock, so that they pass over nothing that was consumed
-- and that the database could not clean up yet. NULL: not a fifo group.
ALTER TABLE groups ADD place bigint;
