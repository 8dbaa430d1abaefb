UPDATE counts SET total = total + ?, leased = leased + ?, dead = dead + ?, dead_here = dead_here + ? WHERE queue = ?
