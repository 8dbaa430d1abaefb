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

// ReapClaims moves keys whose holders are gone, or whose wait can lead nowhere: see [ledger.Store]. If the database refuses
// one, each is moved apart.
func (db *DB) ReapClaims(ctx context.Context, limit int) (n int, err error) {
	reap := func(apart bool) error {
		return db.in(ctx, func(ctx context.Context, tx *txn) error {
			n = 0
			keys, err := lapsedKeys(ctx, tx, limit)
			if err != nil {
				return err
			}
			if !apart {
				n, err = db.reap(ctx, tx, keys)
				return err
			}
			for id, c := range keys {
				moved := 0
				err := db.in(ctx, func(ctx context.Context, tx *txn) (err error) {
					moved, err = db.reap(ctx, tx, map[int64]*claim{id: c})
					return err
				})
				if err != nil && !badItem(err) {
					return err
				}
				if err != nil {
					db.opts.Logger.ErrorContext(ctx, "a key whose holder is gone could not be moved", "claim", id, "error", err)
					continue
				}
				n += moved
			}
			return nil
		})
	}
	err = db.alone(ctx, func(ctx context.Context) error { // nearly always there are none
		keys, err := lapsedKeys(ctx, db.conn(ctx), limit)
		n = len(keys)
		return err
	})
	if err == nil && n > 0 {
		if err = reap(false); badItem(err) {
			err = reap(true)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("reap keys: %w", err)
	}
	return n, nil
}

// reap moves those of the locked keys that are to be moved, and answers how many.
func (db *DB) reap(ctx context.Context, tx *txn, keys map[int64]*claim) (n int, err error) {
	ch := newChanges(tx, keys)
	var ended []*claim
	for _, c := range byID(keys) {
		was := c.Claim
		if !c.Reap(tx.now) {
			continue // it moved between look and lock
		}
		n++
		ch.saveClaim(c)
		ch.said(c, c.ReapNotes(&was)...)
		if c.State.Terminal() {
			ended = append(ended, c)
		}
	}
	if err := ch.bury(ctx, ended); err != nil {
		return 0, err
	}
	return n, ch.flush(ctx, db.hub)
}

// lapsedKeys locks at most limit keys that the reaper may move.
func lapsedKeys(ctx context.Context, on querier, limit int) (map[int64]*claim, error) {
	rows, err := on.Query(ctx, reapKeysSQL, limit, seconds(ledger.Memory))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	keys := map[int64]*claim{}
	for rows.Next() {
		c, err := scanClaim(rows)
		if err != nil {
			return nil, err
		}
		keys[c.ID] = c
	}
	return keys, rows.Err()
}

// bury dead-letters the messages of keys that can be tried no more, unless somebody holds one: who does will find the
// key as it is, and do it.
func (ch *changes) bury(ctx context.Context, keys []*claim) error {
	of := map[int64]*claim{}
	var ids []int64
	for _, c := range keys {
		if c.MessageID != 0 {
			of[c.MessageID], ids = c, append(ids, c.MessageID)
		}
	}
	messages, err := ch.tx.lockMessages(ctx, ids)
	if err != nil {
		return err
	}
	dlqs, err := ch.tx.dlqsIfAny(ctx, messages)
	if err != nil {
		return err
	}
	for _, m := range byID(messages) {
		c, dlq := of[m.ID], dlqs[m.QueueID]
		if m.ClaimID != c.ID || !m.DeadAt.IsZero() || dlq.ID == 0 || m.Leased && m.VisibleAt.After(ch.tx.now) {
			continue
		}
		group := m.GroupID
		if err := ch.message(m, group, m.DeadLetter(ch.tx.now, dlq, c.LastError)); err != nil {
			return err
		}
	}
	return nil
}

// ForgetClaims deletes keys that ended long ago, with their history.
func (db *DB) ForgetClaims(ctx context.Context, limit int) (int, error) {
	tag, err := db.conn(ctx).Exec(ctx, forgetKeysSQL, limit, seconds(ledger.Memory))
	if err != nil {
		return 0, fmt.Errorf("forget keys: %w", db.fault(ctx, err))
	}
	return int(tag.RowsAffected()), nil
}
