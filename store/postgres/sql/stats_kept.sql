-- $1 queue, $2 the delta up to which all were added to the counts. The kept counts: all, in flight, delayed, dead letters that came from it. A lease or a delay stops counting with its second.
SELECT coalesce(sum(n) FILTER (WHERE kind = 't'), 0)::bigint,
       coalesce(sum(n) FILTER (WHERE kind = 'l' AND due_s > extract(epoch FROM now())), 0)::bigint,
       coalesce(sum(n) FILTER (WHERE kind = 'd' AND due_s > extract(epoch FROM now())), 0)::bigint,
       coalesce(sum(n) FILTER (WHERE kind = 'x'), 0)::bigint
FROM (SELECT kind, due_s, n FROM counts WHERE queue = $1
      UNION ALL SELECT kind, due_s, n FROM count_deltas WHERE queue = $1 AND id > $2) k
