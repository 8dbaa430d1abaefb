UPDATE messages SET queue = ?, gid = ?, place = ?, receives = ?, lease_no = ?, leased = ?, receipt_open = ?, vis = ?, received_at = ?,
       expires_at = ?, claim_id = ?, source_queue = ?, source_gid = ?, dead_at = ?, last_error = ?
WHERE id = ?
