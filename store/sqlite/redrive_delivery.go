package sqlite

// stepDeliveryRedrive moves at most limit dead deliveries of r back, with their claims, and counts them in r.
func (db *DB) stepDeliveryRedrive(t *tx, r *redrive, limit int) error { return nil }
