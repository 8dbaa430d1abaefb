-- What the taken keys stand for: $1 project, $2 scope, $3 key, $4 the event's row
UPDATE request_keys k SET event = u.event
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) u(project, scope, key, event)
WHERE k.project = u.project AND k.scope = u.scope AND k.key = u.key
