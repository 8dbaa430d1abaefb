-- $1 limit: publish keys whose window is over
DELETE FROM publish_keys WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM publish_keys WHERE expires_at <= now() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED))
