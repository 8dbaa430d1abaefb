-- The newest lines of a claim's history: $1 claim, $2 how many
SELECT (extract(epoch FROM at) * 1000000)::bigint, what, fence, coalesce(who, ''), coalesce(detail, '')
FROM onceward_claim_notes WHERE claim_id = $1::bigint ORDER BY id DESC LIMIT $2::bigint
