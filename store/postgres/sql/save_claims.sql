-- Writes claims of one part of the ledger that this transaction has locked (of the other: claims.go): $1 id, $2 work_hash, $3 state, $4 fence, $5 begun, $6 attempt, $7 tries, $8 max_tries,
-- $9 ambiguous, $10 grant_id, $11 owner, $12 lease_until, $13 next_at, $14 finished_at, $15 first_at, $16 window_s, $17 message_id, $18 lease_no, $19 result, $20 last_error.
-- Of all but $1, $2 and $19 an array of one element is for all.
UPDATE worker_claims c SET work_hash = u.work_hash, state = u.state, fence = u.fence, begun = u.begun, attempt = u.attempt, tries = u.tries,
       max_tries = u.max_tries, ambiguous = u.ambiguous, grant_id = nullif(u.grant_id, ''), owner = nullif(u.owner, ''),
       lease_until = nullif(u.lease_until, '0001-01-01Z'), next_at = nullif(u.next_at, '0001-01-01Z'),
       finished_at = nullif(u.finished_at, '0001-01-01Z'), first_at = nullif(u.first_at, '0001-01-01Z'), window_s = nullif(u.window_s, 0),
       message_id = nullif(u.message_id, 0), lease_no = u.lease_no, result = u.result, last_error = nullif(u.last_error, '')
FROM (
  SELECT id, work_hash, coalesce(state, ($3::text[])[1]) AS state, coalesce(fence, ($4::bigint[])[1]) AS fence, coalesce(begun, ($5::bigint[])[1]) AS begun,
         coalesce(attempt, ($6::int[])[1]) AS attempt, coalesce(tries, ($7::int[])[1]) AS tries, coalesce(max_tries, ($8::int[])[1]) AS max_tries,
         coalesce(ambiguous, ($9::bool[])[1]) AS ambiguous, coalesce(grant_id, ($10::text[])[1]) AS grant_id, coalesce(owner, ($11::text[])[1]) AS owner,
         coalesce(lease_until, ($12::timestamptz[])[1]) AS lease_until, coalesce(next_at, ($13::timestamptz[])[1]) AS next_at,
         coalesce(finished_at, ($14::timestamptz[])[1]) AS finished_at, coalesce(first_at, ($15::timestamptz[])[1]) AS first_at,
         coalesce(window_s, ($16::float8[])[1]) AS window_s, coalesce(message_id, ($17::bigint[])[1]) AS message_id, coalesce(lease_no, ($18::int[])[1]) AS lease_no,
         result, coalesce(last_error, ($20::text[])[1]) AS last_error
  FROM unnest($1::bigint[], $2::bytea[], $3::text[], $4::bigint[], $5::bigint[], $6::int[], $7::int[], $8::int[], $9::bool[], $10::text[], $11::text[],
              $12::timestamptz[], $13::timestamptz[], $14::timestamptz[], $15::timestamptz[], $16::float8[], $17::bigint[], $18::int[], $19::bytea[], $20::text[])
    u(id, work_hash, state, fence, begun, attempt, tries, max_tries, ambiguous, grant_id, owner, lease_until, next_at, finished_at, first_at, window_s, message_id,
      lease_no, result, last_error)
) u
WHERE c.id = u.id
