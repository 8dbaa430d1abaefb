DELETE FROM publish_keys WHERE project = ? AND queue = ? AND key = ?
