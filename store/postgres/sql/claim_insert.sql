-- Keys that were asked for the first time, as the rules left them: $1 id, $2 project, $3 scope, $4 key, $5 hash, $6 work_hash, $7 policy, $8 state, $9 fence,
-- $10 begun, $11 attempt, $12 tries, $13 max_tries, $14 grant_id, $15 owner, $16 lease_until, $17 finished_at, $18 first_at, $19 window_s, $20 origin_at, $21 message_id, $22 lease_no, $23 last_error, $24 keep_s.
-- Of all but $1, $4, $5 and $6 an array of one element is for all. A key that another transaction is making is waited for; is it there then, this fails, and the transaction
-- is run again.
INSERT INTO worker_claims (id, kind, project, scope, key, hash, work_hash, policy, state, fence, begun, attempt, tries, max_tries, grant_id, owner, lease_until, finished_at, first_at,
  window_s, origin_at, message_id, lease_no, last_error, keep_s)
SELECT id, 'w', project, scope, key, hash, work_hash, CASE policy WHEN 'once' THEN 'o' ELSE 'i' END::"char", state, fence, begun, attempt, tries, max_tries, nullif(grant_id, ''),
  nullif(owner, ''), nullif(lease_until, '0001-01-01Z'), nullif(finished_at, '0001-01-01Z'), nullif(first_at, '0001-01-01Z'), nullif(window_s, 0), origin_at, nullif(message_id, 0),
  lease_no, nullif(last_error, ''), nullif(keep_s, 0)
FROM (
  SELECT id, coalesce(project, ($2::bigint[])[1]) AS project, coalesce(scope, ($3::text[])[1]) AS scope, key, hash, work_hash,
         coalesce(policy, ($7::text[])[1]) AS policy, coalesce(state, ($8::text[])[1]) AS state, coalesce(fence, ($9::bigint[])[1]) AS fence,
         coalesce(begun, ($10::bigint[])[1]) AS begun, coalesce(attempt, ($11::int[])[1]) AS attempt, coalesce(tries, ($12::int[])[1]) AS tries,
         coalesce(max_tries, ($13::int[])[1]) AS max_tries, coalesce(grant_id, ($14::text[])[1]) AS grant_id, coalesce(owner, ($15::text[])[1]) AS owner,
         coalesce(lease_until, ($16::timestamptz[])[1]) AS lease_until, coalesce(finished_at, ($17::timestamptz[])[1]) AS finished_at,
         coalesce(first_at, ($18::timestamptz[])[1]) AS first_at, coalesce(window_s, ($19::float8[])[1]) AS window_s,
         coalesce(origin_at, ($20::timestamptz[])[1]) AS origin_at, coalesce(message_id, ($21::bigint[])[1]) AS message_id,
         coalesce(lease_no, ($22::int[])[1]) AS lease_no, coalesce(last_error, ($23::text[])[1]) AS last_error,
         coalesce(keep_s, ($24::float8[])[1]) AS keep_s
  FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bytea[], $6::bytea[], $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::int[],
              $12::int[], $13::int[], $14::text[], $15::text[], $16::timestamptz[], $17::timestamptz[], $18::timestamptz[], $19::float8[], $20::timestamptz[],
              $21::bigint[], $22::int[], $23::text[], $24::float8[])
    u(id, project, scope, key, hash, work_hash, policy, state, fence, begun, attempt, tries, max_tries, grant_id, owner, lease_until, finished_at, first_at,
      window_s, origin_at, message_id, lease_no, last_error, keep_s)
) u
ORDER BY hash
