INSERT INTO delay_counts (n, queue, due_s) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n
