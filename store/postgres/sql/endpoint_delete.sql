-- $1 project, $2 id
UPDATE endpoints SET deleted_at = now(), updated_at = now() WHERE id = $2 AND project = $1 AND deleted_at IS NULL
