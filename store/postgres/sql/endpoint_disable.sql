-- $1 ids, $2 reasons. Endpoints that are disabled already keep their reason. Locked by id, between messages and groups.
WITH l AS MATERIALIZED (
  SELECT e.id, u.reason FROM endpoints e JOIN unnest($1::bigint[], $2::text[]) u(id, reason) ON u.id = e.id
  WHERE NOT e.disabled ORDER BY e.id FOR UPDATE OF e
)
UPDATE endpoints e SET disabled = true, reason = nullif(l.reason, ''), updated_at = now() FROM l WHERE e.id = l.id
