-- $1 project, $2 scope, $3 key: the first answer, with a fresh snapshot
SELECT hash, answer FROM request_keys WHERE project = $1 AND scope = $2 AND key = $3 AND expires_at > now()
