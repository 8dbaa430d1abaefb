-- $1 projects. Those of them that have a limit are held to the end of the transaction, in the one order of locks.
SELECT id FROM projects WHERE id = ANY ($1) AND credit_limit IS NOT NULL ORDER BY id FOR NO KEY UPDATE
