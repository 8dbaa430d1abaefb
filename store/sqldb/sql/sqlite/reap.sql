-- Keys whose holder's lease is over, whose receiver no longer remembers them, or that are older than the ledger's memory: now, now, the
-- time before which is too old, how many.
SELECT {{columns}}
FROM onceward_claims WHERE id IN (
  SELECT id FROM onceward_claims WHERE state IN ('claimed', 'started') AND lease_until <= ?
  UNION
  SELECT id FROM onceward_claims WHERE state = 'retry' AND ambiguous AND window_s IS NOT NULL AND first_at <= ? - window_s * 1000000
  UNION
  SELECT id FROM onceward_claims WHERE state = 'retry' AND origin_at < ?
  LIMIT ?)
ORDER BY id
