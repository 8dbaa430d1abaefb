UPDATE projects SET spent = spent + ? WHERE id = ?
