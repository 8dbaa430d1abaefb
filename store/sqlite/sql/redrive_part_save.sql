UPDATE redrive_parts SET state = ?, canary = ?, after_id = ?, n = ? WHERE redrive = ? AND endpoint = ?
