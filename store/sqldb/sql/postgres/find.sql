-- $1 hash
SELECT {{columns}}
FROM onceward_claims WHERE hash = decode($1::text, 'hex')
