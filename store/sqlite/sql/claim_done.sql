-- deliveries': they have no result
UPDATE claims SET state = 'done', lease_until = NULL, next_at = NULL, finished_at = ?, last_error = NULL
WHERE id IN (SELECT value FROM json_each(?))
