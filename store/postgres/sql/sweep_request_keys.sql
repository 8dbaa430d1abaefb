-- $1 limit: request keys whose window is over
DELETE FROM request_keys WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM request_keys WHERE expires_at <= now() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED))
