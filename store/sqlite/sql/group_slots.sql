UPDATE groups SET in_flight = in_flight + ? WHERE id = ?
