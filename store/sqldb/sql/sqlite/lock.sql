-- Reads keys by their hashes. The transaction is the only one that writes.
SELECT {{columns}}
FROM onceward_claims WHERE hash IN (SELECT unhex(h.value) FROM json_each(?) h) ORDER BY id
