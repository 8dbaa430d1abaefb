-- Keys that are asked for: rows, and the time.
INSERT INTO onceward_claims (project, scope, key, hash, work_hash, policy, state, max_tries, window_s, keep_s, origin_at, created_at)
SELECT u.value ->> 'project', u.value ->> 'scope', u.value ->> 'key', unhex(u.value ->> 'hash'), unhex(u.value ->> 'work_hash'),
  u.value ->> 'policy', 'new', u.value ->> 'max_tries', u.value ->> 'window_s', u.value ->> 'keep_s',
  coalesce(u.value ->> 'origin_at', t.now), t.now
FROM json_each(?) u, (SELECT ? AS now) t
WHERE true
ON CONFLICT (hash) DO NOTHING
