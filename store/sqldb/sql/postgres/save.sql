-- Writes claims that this transaction has locked, $1, and lines of their history, $2.
WITH s AS (
  UPDATE onceward_claims c SET work_hash = decode(u.work_hash, 'hex'), state = u.state, fence = u.fence, begun = u.begun, attempt = u.attempt, tries = u.tries, ambiguous = u.ambiguous,
    grant_id = u.grant_id, owner = u.owner, lease_until = 'epoch'::timestamptz + u.lease_until * interval '1 microsecond',
    next_at = 'epoch'::timestamptz + u.next_at * interval '1 microsecond',
    finished_at = 'epoch'::timestamptz + u.finished_at * interval '1 microsecond',
    first_at = 'epoch'::timestamptz + u.first_at * interval '1 microsecond',
    forget_at = 'epoch'::timestamptz + u.forget_at * interval '1 microsecond',
    result = decode(u.result, 'hex'), last_error = u.last_error
  FROM jsonb_to_recordset($1::text::jsonb) AS u (id bigint, work_hash text, state text, fence bigint, begun bigint, attempt int, tries int, ambiguous boolean,
    grant_id text, owner text, lease_until bigint, next_at bigint, finished_at bigint, first_at bigint, forget_at bigint, result text, last_error text)
  WHERE c.id = u.id
)
INSERT INTO onceward_claim_notes (claim_id, at, what, fence, who, detail)
SELECT claim_id, 'epoch'::timestamptz + at * interval '1 microsecond', what, fence, who, detail
FROM jsonb_to_recordset($2::text::jsonb) AS n (claim_id bigint, at bigint, what text, fence bigint, who text, detail text)
