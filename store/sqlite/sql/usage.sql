-- newest first, before a day
SELECT day, messages, cost FROM usage_days WHERE project = ? AND day < ? ORDER BY day DESC LIMIT ?
