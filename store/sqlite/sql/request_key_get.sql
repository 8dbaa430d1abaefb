SELECT hash, event, expires_at FROM request_keys WHERE project = ? AND scope = ? AND key = ?
