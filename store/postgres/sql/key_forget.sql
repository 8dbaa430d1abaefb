-- $1 project, $2 ended before
DELETE FROM keys WHERE id IN (SELECT id FROM keys WHERE project = $1 AND least(revoked_at, expires_at) < $2 ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED)
