INSERT INTO usage_days (project, day, messages, cost) VALUES (?, ?, ?, ?)
ON CONFLICT (project, day) DO UPDATE SET messages = messages + excluded.messages, cost = cost + excluded.cost
