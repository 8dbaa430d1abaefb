-- $1 redrive, $2 endpoint, $3 state, $4 canary (0: none), $5 total, $6 moved, $7 left, $8 last_id
UPDATE redrive_parts p SET state = u.state, canary = nullif(u.canary, 0), total = u.total, moved = u.moved, left_behind = u.left_behind, last_id = u.last_id
FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[]) u(endpoint, state, canary, total, moved, left_behind, last_id)
WHERE p.redrive = $1 AND p.endpoint = u.endpoint
