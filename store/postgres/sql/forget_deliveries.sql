-- All deliveries of the events whose deliveries' claims these are: $1 claim ids
SELECT d.event, d.id, d.claim_id, d.endpoint, d.sends, coalesce(d.cancelled_at, '0001-01-01Z'), e.project, e.event_id
FROM deliveries d JOIN events e ON e.id = d.event
WHERE d.event IN (SELECT event FROM deliveries WHERE claim_id = ANY ($1::bigint[]))
ORDER BY d.event, d.id
