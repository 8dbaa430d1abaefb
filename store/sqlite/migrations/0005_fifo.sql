ALTER TABLE queues ADD COLUMN fifo INTEGER NOT NULL DEFAULT 0 CHECK (fifo IN (0, 1));
ALTER TABLE queues ADD COLUMN content_dedup INTEGER NOT NULL DEFAULT 0 CHECK (content_dedup IN (0, 1));
-- Of a fifo queue: where a message stands in its group. The lowest is the group's head, in flight or not, and alone can be received. NULL: of a standard queue.
ALTER TABLE messages ADD COLUMN place INTEGER CHECK (place > 0);
CREATE INDEX messages_fifo ON messages (gid, place) WHERE gid IS NOT NULL AND place IS NOT NULL;
