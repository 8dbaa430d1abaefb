package sqlite

import "time"

// sweepDeliveries cancels at most limit deliveries that wait for deleted endpoints, and answers how much it did.
func (db *DB) sweepDeliveries(t *tx, now time.Time, limit int) (int, error) { return 0, nil }
