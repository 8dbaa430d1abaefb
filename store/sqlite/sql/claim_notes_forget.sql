DELETE FROM claim_notes WHERE claim_id = ?
