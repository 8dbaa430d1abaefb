-- Writes rows that this transaction has locked: $1 id, $2 queue, $3 gid, $4 receives, $5 lease_no, $6 leased, $7 receipt_open, $8 vis,
-- $9 received_at, $10 expires_at, $11 claim_id, $12 source_queue, $13 source_gid, $14 dead_at, $15 last_error, $16 origin_at, $17 place. Of all but $1 an array of one element is for all.
UPDATE messages m SET queue = u.queue, gid = nullif(u.gid, 0), place = nullif(u.place, 0), receives = u.receives, lease_no = u.lease_no, leased = u.leased,
       receipt_open = u.receipt_open, vis = u.vis, received_at = nullif(u.received_at, '0001-01-01Z'), expires_at = u.expires_at,
       claim_id = nullif(u.claim_id, 0), source_queue = nullif(u.source_queue, 0), source_gid = nullif(u.source_gid, 0),
       dead_at = nullif(u.dead_at, '0001-01-01Z'), last_error = nullif(u.last_error, ''), origin_at = u.origin_at
FROM (
  SELECT id, coalesce(queue, ($2::bigint[])[1]) AS queue, coalesce(gid, ($3::bigint[])[1]) AS gid, coalesce(receives, ($4::int2[])[1]) AS receives,
         coalesce(lease_no, ($5::int[])[1]) AS lease_no, coalesce(leased, ($6::bool[])[1]) AS leased, coalesce(receipt_open, ($7::bool[])[1]) AS receipt_open,
         coalesce(vis, ($8::timestamptz[])[1]) AS vis, coalesce(received_at, ($9::timestamptz[])[1]) AS received_at,
         coalesce(expires_at, ($10::timestamptz[])[1]) AS expires_at, coalesce(claim_id, ($11::bigint[])[1]) AS claim_id,
         coalesce(source_queue, ($12::bigint[])[1]) AS source_queue, coalesce(source_gid, ($13::bigint[])[1]) AS source_gid,
         coalesce(dead_at, ($14::timestamptz[])[1]) AS dead_at, coalesce(last_error, ($15::text[])[1]) AS last_error,
         coalesce(origin_at, ($16::timestamptz[])[1]) AS origin_at, coalesce(place, ($17::bigint[])[1]) AS place
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::int2[], $5::int[], $6::bool[], $7::bool[], $8::timestamptz[], $9::timestamptz[], $10::timestamptz[],
              $11::bigint[], $12::bigint[], $13::bigint[], $14::timestamptz[], $15::text[], $16::timestamptz[], $17::bigint[])
    u(id, queue, gid, receives, lease_no, leased, receipt_open, vis, received_at, expires_at, claim_id, source_queue, source_gid, dead_at, last_error, origin_at,
      place)
) u
WHERE m.id = ANY (ARRAY[u.id])
