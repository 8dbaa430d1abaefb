package sqldb

import (
	"context"
	"fmt"

	"github.com/onceward/onceward/ledger"
)

// ReapClaims moves keys whose holders are gone, or whose wait can lead nowhere: see [ledger.Store].
func (d *DB[T]) ReapClaims(ctx context.Context, limit int) (n int, err error) {
	err = d.within(ctx, func(ctx context.Context, t *txn) error {
		n = 0
		args := []any{limit, ledger.Memory.Seconds()}
		if d.sql.clock {
			t.now = now()
			args = []any{t.now.UnixMicro(), t.now.UnixMicro(), t.now.Add(-ledger.Memory).UnixMicro(), limit}
		}
		ch := changes{}
		err := t.query(ctx, func(scan func(...any) error) error {
			c, at, err := scanClaim(scan)
			if err != nil {
				return err
			}
			if !d.sql.clock {
				t.now = at
			}
			if was := *c; c.Reap(t.now) {
				ch.save(c, c.ReapNotes(&was)...)
				n++
			}
			return nil
		}, d.sql.reap, args...)
		if err != nil {
			return err
		}
		return d.write(ctx, t, &ch)
	})
	if err != nil {
		return 0, fmt.Errorf("reap keys: %w", err)
	}
	return n, nil
}

// ForgetClaims deletes keys that ended long ago, with their histories: see [ledger.Store].
func (d *DB[T]) ForgetClaims(ctx context.Context, limit int) (int, error) {
	var n int64
	err := d.within(ctx, func(ctx context.Context, t *txn) (err error) {
		args := []any{limit}
		if d.sql.clock {
			args = []any{now().UnixMicro(), limit}
		}
		n, err = d.count(ctx, t, d.sql.forget, args...)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("forget keys: %w", err)
	}
	return int(n), nil
}
