SELECT total, leased, dead, dead_here FROM counts WHERE queue = ?
