-- What an endpoint says of its group: $1 id, $2 slots, $3 disabled, $4 hold_s. One whose turn was kept meanwhile goes to the tail.
UPDATE groups SET slots = $2, disabled = $3, hold_s = $4, tick = greatest(tick, group_tick()), next_at = CASE WHEN next_at < now() THEN now() ELSE next_at END,
  low = CASE WHEN next_at < now() THEN least(low, next_at) ELSE low END
WHERE id = $1
