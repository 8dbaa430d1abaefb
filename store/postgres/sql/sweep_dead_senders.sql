-- Deliveries of disabled endpoints whose sender's lease ran out: no take comes to find them: $1 limit
SELECT m.id FROM messages m JOIN groups g ON g.id = ANY (ARRAY[m.gid]) AND g.disabled
WHERE m.queue = 1 AND m.receipt_open AND NOT m.leased AND m.dead_at IS NULL AND m.vis <= now() LIMIT $1
