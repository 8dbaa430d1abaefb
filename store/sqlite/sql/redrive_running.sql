SELECT id FROM redrives WHERE project = ? AND queue = ? AND queue <> 1 AND state = 'running'
