-- $1 message ids: those of them that are dead letters
SELECT id FROM messages WHERE id = ANY ($1::bigint[]) AND dead_at IS NOT NULL
