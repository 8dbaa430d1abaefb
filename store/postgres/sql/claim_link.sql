-- Messages that carry a key from now on, so that their death closes it and their redrive reopens it: $1 message, $2 project, $3 lease_no, $4 claim
WITH l AS MATERIALIZED (
  SELECT m.id, u.claim FROM messages m
  JOIN unnest($1::bigint[], $2::bigint[], $3::int[], $4::bigint[]) u(id, project, lease_no, claim)
    ON m.id = u.id AND m.project = u.project AND m.lease_no = u.lease_no
  WHERE m.claim_id IS NULL AND m.receipt_open ORDER BY m.id FOR UPDATE OF m
)
UPDATE messages m SET claim_id = l.claim FROM l WHERE m.id = l.id
