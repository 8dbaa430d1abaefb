SELECT body, headers FROM bodies WHERE id = ?
