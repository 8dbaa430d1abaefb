-- $1 project, $2 before this day, counted from 1970-01-01 (0: from the newest), $3 limit. Newest first.
SELECT day, sum(messages)::bigint, sum(cost)::bigint
FROM (SELECT day, messages, cost FROM usage_days WHERE project = $1
      UNION ALL SELECT day, messages, cost FROM usage_deltas WHERE project = $1) u
WHERE $2 = 0 OR day < '1970-01-01'::date + $2::int
GROUP BY day ORDER BY day DESC LIMIT $3
