SELECT id FROM redrives WHERE project = ? AND queue = ? AND state = 'running'
