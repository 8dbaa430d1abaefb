INSERT INTO claim_notes (id, claim_id, at, what, fence, who, detail) VALUES (?, ?, ?, ?, ?, ?, ?)
