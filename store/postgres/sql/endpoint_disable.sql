-- $1 ids, $2 reasons, $3 the URLs that said so. Endpoints that are disabled already keep their reason; what another address said is not of
-- the one that an endpoint has now. Locked by id, between messages and groups, whatever they are, so that an enabling at the same time
-- comes before or after.
WITH l AS MATERIALIZED (
  SELECT e.id, u.reason, e.disabled OR e.url <> u.url AS stays FROM endpoints e JOIN unnest($1::bigint[], $2::text[], $3::text[]) u(id, reason, url) ON u.id = e.id
  ORDER BY e.id FOR NO KEY UPDATE OF e
)
UPDATE endpoints e SET disabled = true, reason = nullif(l.reason, ''), updated_at = now() FROM l WHERE e.id = l.id AND NOT l.stays
