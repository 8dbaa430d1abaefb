package postgres

import (
	"context"
	"fmt"

	"github.com/onceward/onceward/ledger"
)

var (
	reapKeysSQL   = stmt("claim_reap")
	forgetKeysSQL = stmt("claim_forget")
)

// ReapClaims moves keys whose holders are gone, or whose wait can lead nowhere: see [ledger.Store].
func (db *DB) ReapClaims(ctx context.Context, limit int) (int, error) {
	n := 0
	err := db.in(ctx, func(ctx context.Context, tx *txn) error {
		n = 0
		rows, err := tx.Query(ctx, reapKeysSQL, limit, seconds(ledger.Memory))
		if err != nil {
			return err
		}
		defer rows.Close()
		ch := newChanges(tx, nil)
		for rows.Next() {
			c, err := scanClaim(rows)
			if err != nil {
				return err
			}
			was := c.Claim
			if !c.Reap(tx.now) {
				continue // it moved between look and lock
			}
			n++
			what := "closed"
			if was.State.Held() {
				what = "lapsed"
			}
			ch.saveClaim(c)
			ch.note(note{claim: c.ID, what: what, fence: c.Fence, who: was.Owner, detail: c.LastError})
		}
		if err := rows.Err(); err != nil {
			return err
		}
		return ch.flush(ctx, db.hub)
	})
	if err != nil {
		return 0, fmt.Errorf("reap keys: %w", err)
	}
	return n, nil
}

// ForgetClaims deletes keys that ended long ago, with their history.
func (db *DB) ForgetClaims(ctx context.Context, limit int) (int, error) {
	tag, err := db.conn(ctx).Exec(ctx, forgetKeysSQL, limit, seconds(ledger.Memory))
	if err != nil {
		return 0, fmt.Errorf("forget keys: %w", db.fault(ctx, err))
	}
	return int(tag.RowsAffected()), nil
}
