UPDATE groups SET disabled = true WHERE id = $1
