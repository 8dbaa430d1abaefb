-- A page of deliveries' claims: $1 after this id, $2 rows, $3 memory_s. Where it ended, how many it had, and those that ended long ago: a cancelled one has, whatever its claim.
SELECT coalesce(max(id), 0), count(*),
  coalesce(array_agg(id ORDER BY id) FILTER (WHERE state IN ('done', 'failed') AND finished_at < now() - $3::float8 * interval '1 s'
    OR state = 'stuck' AND EXISTS (SELECT FROM deliveries d WHERE d.claim_id = c.id AND d.cancelled_at < now() - $3::float8 * interval '1 s')), '{}')
FROM (SELECT id, state, finished_at FROM delivery_claims WHERE id > $1 ORDER BY id LIMIT $2) c
