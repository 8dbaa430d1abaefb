-- Parts that are over: $1 redrive, $2 endpoints
DELETE FROM redrive_parts WHERE redrive = $1 AND endpoint = ANY ($2::bigint[])
