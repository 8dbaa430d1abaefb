-- $1 redrive, $2 endpoints, ascending, $3 state, $4 how many of each
INSERT INTO redrive_parts (redrive, endpoint, state, total) SELECT $1, endpoint, $3, total FROM unnest($2::bigint[], $4::bigint[]) u(endpoint, total)
