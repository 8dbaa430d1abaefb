-- A bounded look at events, newest first: $1 before this id, $2 rows to look at. The last column: whether it is asked for, by $3 project,
-- $4 tenant, $5 type, $6 event_id, $7 subject, $8 from, $9 to, each '' or year 1 for all.
SELECT id, project, event_id, type, coalesce(tenant, ''), coalesce(subject, ''), created_at,
  coalesce(($4 = '' OR tenant = $4) AND ($5 = '' OR type = $5) AND ($6 = '' OR event_id = $6)
  AND ($7 = '' OR subject = $7) AND ($8::timestamptz = '0001-01-01Z' OR created_at >= $8) AND ($9::timestamptz = '0001-01-01Z' OR created_at < $9), false)
FROM events WHERE project = $3 AND id < $1 ORDER BY id DESC LIMIT $2
