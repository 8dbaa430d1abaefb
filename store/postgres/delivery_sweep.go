package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/queue"
)

var (
	deadSendersSQL    = stmt("sweep_dead_senders")
	sweepWaitingSQL   = stmt("sweep_waiting")
	cancelWaitingSQL  = stmt("cancel_waiting")
	cancelRestSQL     = stmt("cancel_rest")
	sweepEndpointsSQL = stmt("sweep_endpoints")
)

const (
	cancelAtOnce  = 500              // of what waits for an endpoint that is deleted; the sweep does the rest
	endpointsRest = 60 * time.Second // between looks for deleted endpoints of which nothing is left
	whyDeleted    = "its endpoint was deleted"
)

// reapDeliveries moves the claims of dead senders of disabled endpoints. Those of others are found by the take that has them next.
func (db *DB) reapDeliveries(ctx context.Context, limit int) (int, error) {
	ids, err := db.ids(ctx, deadSendersSQL, limit)
	if err != nil {
		return 0, err
	}
	return db.eachApart(ctx, ids, func(ctx context.Context, tx *txn, ids []int64) (n int, err error) {
		claims, err := tx.lockClaimsOf(ctx, ids)
		if err != nil {
			return 0, err
		}
		messages, err := tx.lockFreeMessages(ctx, ids)
		if err != nil {
			return 0, err
		}
		ch := newChanges(tx, claims)
		for _, m := range byID(messages) {
			c := claims[m.ClaimID]
			if c == nil || m.Leased || !m.DeadAt.IsZero() {
				continue
			}
			if was := c.Claim; was.State.Held() {
				if !c.Reap(tx.now) {
					continue
				}
				ch.saveClaim(c)
				ch.dead = append(ch.dead, deadHolder(&was, m, tx.now, c.NextAt))
			}
			n++
			group, change := m.GroupID, queue.Change{}
			if m.Open = false; c.State.Terminal() { // its sender's word goes by the fence
				change = m.DeadLetter(tx.now, deadLetters, c.LastError)
			}
			if err := ch.message(m, group, change); err != nil {
				return 0, err
			}
		}
		return n, ch.flush(ctx, db.hub)
	})
}

// cancelDeleted cancels what waits for deleted endpoints.
func (db *DB) cancelDeleted(ctx context.Context, limit int) (int, error) {
	endpoints, err := db.ids(ctx, sweepWaitingSQL, limit)
	total := 0
	for _, id := range endpoints {
		if total >= limit {
			break
		}
		n, e := db.cancelWaiting(ctx, id, limit-total)
		total, err = total+n, errors.Join(err, e)
	}
	return total, err
}

// cancelWaiting cancels at most limit deliveries that wait for a deleted endpoint. The one being sent is left to its end.
func (db *DB) cancelWaiting(ctx context.Context, endpoint int64, limit int) (n int, err error) {
	err = db.in(ctx, func(ctx context.Context, tx *txn) error {
		n = 0
		ids, err := tx.ids(ctx, cancelWaitingSQL, endpoint, limit)
		if err != nil {
			return err
		}
		claims, err := tx.lockClaimsOf(ctx, ids)
		if err != nil {
			return err
		}
		messages, err := tx.lockMessages(ctx, ids)
		if err != nil {
			return err
		}
		ch := newChanges(tx, claims)
		var cancelled []int64
		for _, m := range byID(messages) {
			c := claims[m.ClaimID]
			if m.GroupID != endpoint || m.Leased || c != nil && c.State.Held() && c.LeaseUntil.After(tx.now) {
				continue
			}
			n++
			if c != nil && !c.State.Terminal() {
				ch.closeClaim(c, whyDeleted)
				cancelled = append(cancelled, c.ID)
			}
			if err := ch.message(m, m.GroupID, queue.Change{Delete: true}); err != nil {
				return err
			}
		}
		if len(cancelled) > 0 {
			ch.write(cancelDeliveriesSQL, cancelled)
		}
		ch.group(endpoint, 0, time.Time{}) // locked in its place
		ch.last = append(ch.last, func(b *pgx.Batch) { b.Queue(cancelRestSQL, endpoint) })
		return ch.flush(ctx, db.hub)
	})
	return n, err
}

// forgetEndpoints deletes the rows of endpoints that were deleted and of which nothing is left.
func (db *DB) forgetEndpoints(ctx context.Context, limit int) (int, error) {
	db.sweeps.mu.Lock()
	due := time.Now().After(db.sweeps.deleted)
	if due {
		db.sweeps.deleted = time.Now().Add(endpointsRest)
	}
	db.sweeps.mu.Unlock()
	if !due {
		return 0, nil
	}
	return db.deleting(sweepEndpointsSQL)(ctx, limit)
}
