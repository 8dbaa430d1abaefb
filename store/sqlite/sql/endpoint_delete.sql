UPDATE endpoints SET deleted_at = ? WHERE id = ?
