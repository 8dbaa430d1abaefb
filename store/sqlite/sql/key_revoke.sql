UPDATE keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?
