-- $1 project, $2 id: what it had not moved is left
WITH r AS (
  UPDATE redrives SET state = 'cancelled', finished_at = now(), total = greatest(total, moved + left_behind), left_behind = greatest(total, moved + left_behind) - moved
  WHERE project = $1 AND id = $2 AND state = 'running' RETURNING id
)
UPDATE redrive_parts p SET state = 'cancelled', left_behind = total - moved FROM r WHERE p.redrive = r.id AND p.state IN ('waiting', 'canary', 'open')
