UPDATE subscriptions SET secret = ?, timeout_s = ?, max_in_flight = ? WHERE id = ?
