SELECT id FROM redrives INDEXED BY redrives_stepped WHERE state = 'running' ORDER BY id
