UPDATE redrives SET state = 'cancelled', left_behind = total - moved, finished_at = ? WHERE queue = ? AND state = 'running'
