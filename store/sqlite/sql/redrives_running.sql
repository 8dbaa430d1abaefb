SELECT id FROM redrives INDEXED BY redrives_running WHERE state = 'running' ORDER BY id
