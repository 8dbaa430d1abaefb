(extract(epoch FROM statement_timestamp()) * 1000000)::bigint, id, project, scope, key, hash, work_hash, policy, state, fence, begun, attempt, tries,
  max_tries, ambiguous, coalesce(grant_id, ''), coalesce(owner, ''), coalesce((extract(epoch FROM lease_until) * 1000000)::bigint, 0),
  coalesce((extract(epoch FROM next_at) * 1000000)::bigint, 0), coalesce((extract(epoch FROM finished_at) * 1000000)::bigint, 0),
  coalesce((extract(epoch FROM first_at) * 1000000)::bigint, 0), coalesce(window_s, 0), coalesce(keep_s, 0),
  (extract(epoch FROM origin_at) * 1000000)::bigint, (extract(epoch FROM created_at) * 1000000)::bigint, result, coalesce(last_error, '')
