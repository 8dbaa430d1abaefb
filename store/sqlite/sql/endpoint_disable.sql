UPDATE endpoints SET disabled = 1, reason = ?, updated_at = ? WHERE id = ? AND deleted_at IS NULL AND NOT disabled AND url = ?
