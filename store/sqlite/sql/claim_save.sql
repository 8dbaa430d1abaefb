UPDATE claims SET work_hash = ?, state = ?, fence = ?, begun = ?, attempt = ?, tries = ?, ambiguous = ?,
       grant_id = ?, owner = ?, lease_until = ?, next_at = ?, finished_at = ?, first_at = ?,
       message_id = ?, lease_no = ?, result = ?, last_error = ?
WHERE id = ?
