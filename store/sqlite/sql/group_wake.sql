UPDATE groups SET next_at = ?1 WHERE id = ?2 AND (next_at IS NULL OR next_at > ?1)
