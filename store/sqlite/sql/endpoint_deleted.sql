SELECT id FROM endpoints WHERE deleted_at IS NOT NULL ORDER BY id
