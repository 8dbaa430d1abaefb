-- $1 project, $2 scope, $3 key, $4 answer
UPDATE request_keys SET answer = $4 WHERE project = $1 AND scope = $2 AND key = $3
