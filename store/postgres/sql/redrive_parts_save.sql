-- $1 redrive, $2 endpoint, $3 state, $4 canary (0: none), $5 last_id
UPDATE redrive_parts p SET state = u.state, canary = nullif(u.canary, 0), last_id = u.last_id
FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::bigint[]) u(endpoint, state, canary, last_id)
WHERE p.redrive = $1 AND p.endpoint = u.endpoint
