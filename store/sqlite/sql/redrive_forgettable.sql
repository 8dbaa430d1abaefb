SELECT id FROM redrives INDEXED BY redrives_over WHERE finished_at IS NOT NULL AND finished_at < ? ORDER BY finished_at LIMIT ?
