-- $1 project: what is spent, folded and unfolded together, and the limit.
SELECT (p.spent + coalesce((SELECT sum(d.cost) FROM usage_deltas d WHERE d.project = p.id), 0))::bigint, p.credit_limit FROM projects p WHERE p.id = $1
