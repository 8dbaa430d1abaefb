-- Deliveries whose sender's lease ran out and that nobody took up since: few, and only those of disabled endpoints for long.
CREATE INDEX messages_lapsed ON messages (gid) WHERE queue = 1 AND receipt_open AND NOT leased AND dead_at IS NULL;
