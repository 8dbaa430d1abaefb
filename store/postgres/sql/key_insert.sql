-- $1 project, $2 name, $3 hash, $4 scopes, $5 expiry
INSERT INTO keys (project, name, hash, scopes, expires_at) VALUES ($1, $2, $3, $4, nullif($5::timestamptz, '0001-01-01Z')) RETURNING id
