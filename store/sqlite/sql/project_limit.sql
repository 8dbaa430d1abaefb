UPDATE projects SET credit_limit = ? WHERE id = ?
