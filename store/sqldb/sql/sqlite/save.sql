-- Writes claims.
UPDATE onceward_claims AS c SET work_hash = unhex(u.value ->> 'work_hash'), state = u.value ->> 'state', fence = u.value ->> 'fence', begun = u.value ->> 'begun',
  attempt = u.value ->> 'attempt', tries = u.value ->> 'tries', ambiguous = u.value ->> 'ambiguous', grant_id = u.value ->> 'grant_id',
  owner = u.value ->> 'owner', lease_until = u.value ->> 'lease_until', next_at = u.value ->> 'next_at', finished_at = u.value ->> 'finished_at',
  first_at = u.value ->> 'first_at', forget_at = u.value ->> 'forget_at', result = unhex(u.value ->> 'result'), last_error = u.value ->> 'last_error'
FROM json_each(?) u WHERE c.id = u.value ->> 'id'
