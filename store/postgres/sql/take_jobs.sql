-- What attempts need beside their claims and their endpoints: $1 claim ids
SELECT d.claim_id, d.id, d.endpoint, d.cause, d.ladder, d.key_send, e.event_id, e.type, e.payload
FROM deliveries d JOIN events e ON e.id = d.event
WHERE d.claim_id = ANY ($1::bigint[])
