-- $1 claim_id, $2 what, $3 fence, $4 who, $5 detail: lines of claims' history. Of all but $1 an array of one element is for all.
INSERT INTO claim_notes (claim_id, what, fence, who, detail)
SELECT claim_id, what, fence, nullif(who, ''), nullif(detail, '')
FROM (
  SELECT claim_id, coalesce(what, ($2::text[])[1]) AS what, coalesce(fence, ($3::bigint[])[1]) AS fence, coalesce(who, ($4::text[])[1]) AS who,
         coalesce(detail, ($5::text[])[1]) AS detail
  FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[])
    u(claim_id, what, fence, who, detail)
) u
