-- Locks keys by their ids, and reads them: $1 hashes, $2 how long to wait for one that another transaction has ('': as the session has it).
SELECT {{columns}}
FROM onceward_claims
WHERE (SELECT set_config('lock_timeout', coalesce(nullif($2::text, ''), current_setting('lock_timeout')), true)) IS NOT NULL
  AND hash = ANY (ARRAY(SELECT decode(h, 'hex') FROM jsonb_array_elements_text($1::text::jsonb) AS h))
ORDER BY id FOR UPDATE
