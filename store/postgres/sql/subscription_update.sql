-- $1 id, $2 secret, $3 timeout_s, $4 max_in_flight
UPDATE subscriptions SET secret = $2, timeout_s = $3, max_in_flight = $4 WHERE id = $1
