-- The newest lines of a claim's history: claim, how many
SELECT at, what, fence, coalesce(who, ''), coalesce(detail, '') FROM onceward_claim_notes WHERE claim_id = ? ORDER BY id DESC LIMIT ?
