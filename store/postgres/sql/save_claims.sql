-- Writes claims that this transaction has locked: $1 id, $2 kind, $3 work_hash, $4 state, $5 fence, $6 begun, $7 attempt, $8 tries,
-- $9 max_tries, $10 ambiguous, $11 grant_id, $12 owner, $13 lease_until, $14 next_at, $15 finished_at, $16 first_at, $17 window_s,
-- $18 message_id, $19 lease_no, $20 result, $21 last_error
UPDATE claims c SET work_hash = u.work_hash, state = u.state, fence = u.fence, begun = u.begun, attempt = u.attempt, tries = u.tries,
       max_tries = u.max_tries, ambiguous = u.ambiguous, grant_id = nullif(u.grant_id, ''), owner = nullif(u.owner, ''),
       lease_until = nullif(u.lease_until, '0001-01-01Z'), next_at = nullif(u.next_at, '0001-01-01Z'),
       finished_at = nullif(u.finished_at, '0001-01-01Z'), first_at = nullif(u.first_at, '0001-01-01Z'), window_s = nullif(u.window_s, 0),
       message_id = nullif(u.message_id, 0), lease_no = u.lease_no, result = u.result, last_error = nullif(u.last_error, '')
FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::text[], $5::bigint[], $6::bigint[], $7::int[], $8::int[], $9::int[], $10::bool[], $11::text[],
            $12::text[], $13::timestamptz[], $14::timestamptz[], $15::timestamptz[], $16::timestamptz[], $17::float8[], $18::bigint[], $19::int[],
            $20::bytea[], $21::text[])
  AS u(id, kind, work_hash, state, fence, begun, attempt, tries, max_tries, ambiguous, grant_id, owner, lease_until, next_at, finished_at, first_at,
       window_s, message_id, lease_no, result, last_error)
WHERE c.id = u.id AND c.kind = u.kind::"char"
