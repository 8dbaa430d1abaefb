DELETE FROM request_keys WHERE project = ? AND scope = ? AND key = ?
