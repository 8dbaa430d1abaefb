UPDATE delay_counts SET n = n + ? WHERE queue = ? AND due_s = ?
