SELECT endpoint, state, canary, after_id, n FROM redrive_parts WHERE redrive = ? ORDER BY state DESC, endpoint -- canaries first
