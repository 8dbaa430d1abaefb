UPDATE messages SET receives = ?, lease_no = ?, leased = ?, receipt_open = ?, vis = ?, received_at = ?, last_error = ?
WHERE id = ?
