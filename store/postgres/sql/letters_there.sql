-- $1 message ids: those of them that are dead letters. By the column that says where they came from: by dead_at the index of all dead letters would do, from end to end.
SELECT id FROM messages WHERE id = ANY ($1::bigint[]) AND source_queue IS NOT NULL
