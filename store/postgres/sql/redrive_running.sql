-- the running ones, and their source queues
SELECT id, queue FROM redrives WHERE state = 'running' ORDER BY id
