DELETE FROM redrive_parts WHERE redrive = ?
