SELECT id, project, scope, key, hash, work_hash, policy, state, fence, begun,
       attempt, tries, max_tries, ambiguous, grant_id, owner, lease_until, next_at,
       finished_at, first_at, window_s, keep_s, origin_at, created_at,
       message_id, lease_no, result, last_error
FROM claims WHERE hash = ? AND kind = ?
