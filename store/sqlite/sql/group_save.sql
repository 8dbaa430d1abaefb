UPDATE groups SET slots = ?, disabled = ?, hold_s = ? WHERE id = ?
