SELECT spent, credit_limit FROM projects WHERE id = ?
