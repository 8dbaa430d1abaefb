SELECT id, project, scope, key, hash, work_hash, policy, state, fence, begun,
       attempt, tries, max_tries, ambiguous, grant_id, owner, lease_until, next_at,
       finished_at, first_at, window_s, keep_s, origin_at, created_at,
       message_id, lease_no, NULL, last_error
FROM claims WHERE kind = 'w' AND project = ? AND state = ? AND id < ? ORDER BY id DESC LIMIT ?
