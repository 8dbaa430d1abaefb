SELECT {{columns}}
FROM onceward_claims WHERE hash = unhex(?)
