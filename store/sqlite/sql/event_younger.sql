-- a cancelled one has ended, whatever its claim
SELECT EXISTS (SELECT 1 FROM deliveries d JOIN claims c ON c.id = d.claim_id
  WHERE d.event = ?1 AND coalesce(c.finished_at, d.cancelled_at, ?2 + 1) > ?2)
