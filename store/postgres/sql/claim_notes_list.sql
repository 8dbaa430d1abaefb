-- The newest of a claim, newest first: $1 claim_id, $2 limit
SELECT at, what, fence, coalesce(who, ''), coalesce(detail, '') FROM claim_notes WHERE claim_id = $1 ORDER BY id DESC LIMIT $2
