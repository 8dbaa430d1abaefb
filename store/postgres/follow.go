package postgres

import (
	"context"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

var (
	followsLockSQL = stmt("follows_lock")
	followsDoneSQL = stmt("follows_done")
)

// What a caller's transaction may say of the message that carries a key.
const (
	followLink   = "l"
	followBegin  = "b"
	followSettle = "s"
	followDelete = "d"
)

// follow is one line of what callers' transactions said: the key's message has to follow it.
type follow struct {
	id, message int64
	lease       int
	act         string
	claim       *claim
}

// followAll has messages follow what callers' transactions said of their keys, once those have committed.
func (db *DB) followAll(ctx context.Context, limit int) (n int, err error) {
	err = db.in(ctx, func(ctx context.Context, tx *txn) error {
		claims, lines, err := tx.lockFollows(ctx, limit)
		if err != nil {
			return err
		}
		n = len(lines)
		return tx.follow(ctx, db, claims, lines)
	})
	return n, err
}

func (tx *txn) lockFollows(ctx context.Context, limit int) (map[int64]*claim, []follow, error) {
	rows, err := tx.Query(ctx, followsLockSQL, limit)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	claims, lines := map[int64]*claim{}, []follow(nil)
	for rows.Next() {
		var f follow
		c, err := scanClaim(rows, &f.id, &f.message, &f.lease, &f.act)
		if err != nil {
			return nil, nil, err
		}
		if claims[c.ID] == nil {
			claims[c.ID] = c
		}
		f.claim = claims[c.ID]
		lines = append(lines, f)
	}
	return claims, lines, rows.Err()
}

func (tx *txn) follow(ctx context.Context, db *DB, claims map[int64]*claim, lines []follow) error {
	messages, err := tx.lockMessages(ctx, column(lines, func(f follow) int64 { return f.message }))
	if err != nil {
		return err
	}
	dlqs, err := tx.dlqsIfAny(ctx, messages)
	if err != nil {
		return err
	}
	groups, err := tx.lockGroupsOfLapsed(ctx, messages)
	if err != nil {
		return err
	}
	ch := newChanges(tx, claims)
	for _, f := range lines {
		m := messages[f.message]
		if m == nil {
			continue
		}
		if f.act == followDelete {
			if m.ClaimID == f.claim.ID && f.claim.State == ledger.Done && !m.DeadAt.IsZero() {
				delete(messages, m.ID)
				if err := ch.message(m, 0, queue.Change{Delete: true}); err != nil {
					return err
				}
			}
			continue
		}
		if err := ch.linkLate(f, m); err != nil {
			return err
		}
		if m.ClaimID != f.claim.ID || f.claim.MessageID != m.ID || f.claim.Lease != f.lease || f.lease == 0 {
			continue // it lost its message, or another message has the key by now
		}
		switch {
		case f.act == followBegin && f.claim.State.Held():
			err = ch.extendOne(m, f.lease, f.claim.LeaseUntil.Sub(tx.now), groups[m.GroupID])
		case f.act == followSettle && !f.claim.State.Held():
			var gone bool
			if gone, err = ch.settleCarrier(f.claim, m, dlqs[m.QueueID]); gone {
				delete(messages, m.ID)
			}
		}
		if err != nil {
			return err
		}
	}
	ids := column(lines, func(f follow) int64 { return f.id })
	ch.write(followsDoneSQL, ids)
	return ch.flush(ctx, db.hub)
}

// linkLate has the message carry the key, if it may still. One that was dead-lettered since, under the lease under which the key was claimed, carries it too, so that its redrive opens
// it; and closes it, as it would have done had it carried it then.
func (ch *changes) linkLate(f follow, m *queue.Row) error {
	if m.ClaimID != 0 || m.Project != f.claim.Project || m.Lease != f.lease {
		return nil
	}
	dead := !m.DeadAt.IsZero()
	if !m.Open && !dead {
		return nil
	}
	m.ClaimID = f.claim.ID
	if dead && f.claim.MessageID == m.ID {
		ch.closeClaim(f.claim, m.LastError)
	}
	return ch.message(m, m.GroupID, queue.Change{})
}
