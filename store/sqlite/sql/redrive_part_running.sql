SELECT redrive FROM redrive_parts INDEXED BY redrive_parts_running WHERE endpoint = ? AND state IN ('waiting', 'canary', 'open')
