SELECT endpoint, state, canary, after_id, n FROM redrive_parts WHERE redrive = ? ORDER BY endpoint
