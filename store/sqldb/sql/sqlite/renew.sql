-- Deletes keys that were forgotten and are asked for anew, with their histories: ids
DELETE FROM onceward_claim_notes WHERE claim_id IN (SELECT value FROM json_each(?));
DELETE FROM onceward_claims WHERE id IN (SELECT value FROM json_each(?))
