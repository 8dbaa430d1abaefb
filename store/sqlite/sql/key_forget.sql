DELETE FROM keys WHERE id IN (SELECT id FROM keys WHERE project = ? AND min(coalesce(revoked_at, expires_at), coalesce(expires_at, revoked_at)) < ? LIMIT 100)
