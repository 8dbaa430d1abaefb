-- Keys whose holder's lease is over, whose receiver no longer remembers them, or that are older than the ledger's memory: ?1 and ?2 now, ?3 the
-- time before which is too old, ?4 how many. What a person sent back waits as long again.
SELECT {{columns}}
FROM onceward_claims WHERE id IN (
  SELECT id FROM onceward_claims WHERE state IN ('claimed', 'started') AND lease_until <= ?1
  UNION
  SELECT id FROM onceward_claims WHERE state = 'retry' AND ambiguous AND window_s IS NOT NULL AND first_at <= ?2 - window_s * 1000000
  UNION
  SELECT id FROM onceward_claims WHERE state = 'retry' AND origin_at < ?3 AND (tries > 0 OR next_at < ?3)
  LIMIT ?4)
ORDER BY id
