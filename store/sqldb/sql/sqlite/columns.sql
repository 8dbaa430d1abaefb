0, id, project, scope, key, hash, work_hash, policy, state, fence, begun, attempt, tries, max_tries, ambiguous, coalesce(grant_id, ''),
  coalesce(owner, ''), coalesce(lease_until, 0), coalesce(next_at, 0), coalesce(finished_at, 0), coalesce(first_at, 0), coalesce(window_s, 0),
  coalesce(keep_s, 0), origin_at, created_at, result, coalesce(last_error, '')
