UPDATE groups SET next_at = ? WHERE id = ?
