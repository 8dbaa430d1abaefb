-- $1 owner
UPDATE subscriptions SET holder = NULL, held_until = NULL WHERE holder = $1
