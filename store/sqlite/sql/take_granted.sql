UPDATE claims SET state = ?, fence = ?, begun = ?, attempt = ?, tries = ?, ambiguous = ?, grant_id = ?, owner = ?, lease_until = ?, next_at = NULL,
       first_at = coalesce(?, first_at), lease_no = ?
WHERE id IN (SELECT value FROM json_each(?))
