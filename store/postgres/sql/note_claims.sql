-- $1 claim ids, $2 what, $3 fence, $4 who, $5 detail: lines of their history
INSERT INTO claim_notes (claim_id, what, fence, who, detail)
SELECT claim_id, what, fence, nullif(who, ''), nullif(detail, '')
FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[]) AS u(claim_id, what, fence, who, detail)
