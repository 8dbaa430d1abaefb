DELETE FROM subscriptions WHERE queue = ? AND id = ?
