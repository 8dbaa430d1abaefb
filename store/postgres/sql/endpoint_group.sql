-- What an endpoint says of its group: $1 id, $2 slots, $3 disabled, $4 hold_s. The group's turn was kept while it was disabled.
UPDATE groups SET slots = $2, disabled = $3, hold_s = $4 WHERE id = $1
