SELECT at, what, fence, who, detail FROM claim_notes WHERE claim_id = ? ORDER BY id DESC LIMIT ?
