-- Deleted endpoints for which something may wait: $1 limit
SELECT e.id FROM endpoints e JOIN groups g ON g.id = ANY (ARRAY[e.id]) WHERE e.deleted_at IS NOT NULL AND g.next_at IS NOT NULL ORDER BY e.id LIMIT $1
