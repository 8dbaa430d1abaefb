DELETE FROM endpoints WHERE id = ? AND deleted_at IS NOT NULL
