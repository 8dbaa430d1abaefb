-- Adds lines to histories.
INSERT INTO onceward_claim_notes (claim_id, at, what, fence, who, detail)
SELECT n.value ->> 'claim_id', n.value ->> 'at', n.value ->> 'what', n.value ->> 'fence', n.value ->> 'who', n.value ->> 'detail' FROM json_each(?) n
