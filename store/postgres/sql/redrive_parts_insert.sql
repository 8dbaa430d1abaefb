-- $1 redrive, $2 endpoints, $3 state
INSERT INTO redrive_parts (redrive, endpoint, state) SELECT $1, unnest($2::bigint[]), $3
