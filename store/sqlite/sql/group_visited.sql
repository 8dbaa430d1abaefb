UPDATE groups SET in_flight = in_flight + ?, next_at = ? WHERE id = ?
