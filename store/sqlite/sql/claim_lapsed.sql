SELECT id FROM claims INDEXED BY claims_lease WHERE kind = 'w' AND lease_until IS NOT NULL AND lease_until <= ? ORDER BY lease_until LIMIT ?
