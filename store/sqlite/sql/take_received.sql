UPDATE messages SET receives = ?, lease_no = ?, leased = 1, receipt_open = 1, vis = ?, received_at = ?
WHERE id IN (SELECT value FROM json_each(?))
