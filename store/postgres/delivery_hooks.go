package postgres

import (
	"context"
	"time"
)

// sweepDeliveries does at most limit items of the webhooks' own duties, in transactions of its own, and answers how much it did.
func (db *DB) sweepDeliveries(ctx context.Context, limit int) (int, error) { return 0, nil }

// stepDeliveryRedrive takes at most limit deliveries of a running redrive, whose row the transaction has locked, and changes
// r.moved, r.left and r.lastID, which the caller saves; done: nothing is left to look at.
func (db *DB) stepDeliveryRedrive(ctx context.Context, tx *txn, r *redriveRow, limit int) (done bool, again time.Duration, err error) {
	return true, 0, nil
}
