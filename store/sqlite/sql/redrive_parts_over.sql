DELETE FROM redrive_parts WHERE (redrive, endpoint) IN (
  SELECT redrive, endpoint FROM redrive_parts p WHERE NOT EXISTS (SELECT 1 FROM redrives r WHERE r.id = p.redrive AND r.state = 'running') LIMIT ?)
