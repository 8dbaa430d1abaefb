-- A message that cannot be taken: $1 its id. It comes again later, so that it keeps no other waiting.
UPDATE messages SET vis = now() + interval '30 s' WHERE id = $1 AND NOT leased
