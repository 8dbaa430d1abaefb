package postgres

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// A caller's own transaction has the keys that it publishes under until it ends, maybe for minutes. Who publishes under one of them must wait for that, but not those
// who share the commit: so a lane passes such a key by, and its item is tried apart, in a transaction of its own and for a bounded time.

const (
	laneWait = "1s"            // for any lock, of a statement of a lane that may meet such a key before its holder's lock is seen
	heldWait = 2 * time.Second // of a call, for all its keys that are held
	maxHeld  = 4               // calls that wait so at a time: each has a connection
)

// errHeld is the result of an item whose key may be in somebody's open transaction.
var errHeld = errors.New("the key may be in a transaction that is open")

var publishKeyWaitSQL = stmt("publish_key_wait")

// laneWaits gives how long a statement waits for locks: for ever inside a transaction, which says that for itself.
func (db *DB) laneWaits(ctx context.Context) string {
	if db.carried(ctx) != nil {
		return ""
	}
	return laneWait
}

// waitAtMost bounds the transaction's waits for locks from now on; 0 is no bound.
func (tx *txn) waitAtMost(ctx context.Context, d time.Duration) error {
	_, err := tx.Exec(ctx, "SELECT set_config('lock_timeout', $1, true)", strconv.FormatInt(d.Milliseconds(), 10))
	return err
}

// apart does items in transactions of their own, waiting for all of them heldWait at most. give gets each one's end; late says that it was waited for in vain.
func (db *DB) apart(ctx context.Context, items []int, do func(ctx context.Context, i int) error, give func(i int, err error, late bool)) {
	end := time.Now().Add(heldWait)
	wait, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	select {
	case db.held <- struct{}{}:
		defer func() { <-db.held }()
	case <-wait.Done():
		for _, i := range items {
			give(i, context.Cause(ctx), ctx.Err() == nil)
		}
		return
	}
	for _, i := range items {
		if err := context.Cause(ctx); err != nil {
			give(i, err, false)
			continue
		}
		err := db.in(ctx, func(ctx context.Context, tx *txn) error {
			if err := tx.waitAtMost(ctx, max(10*time.Millisecond, time.Until(end))); err != nil {
				return err
			}
			return do(ctx, i)
		})
		give(i, err, lockTimeout(err))
	}
}

// passedBy gives the places of results that are errHeld.
func passedBy[T any](out []T, errOf func(T) error) (held []int) {
	for i := range out {
		if errOf(out[i]) == errHeld {
			held = append(held, i)
		}
	}
	return held
}

// publishHeld publishes the items whose keys the lane passed by.
func (db *DB) publishHeld(ctx context.Context, items []queue.Publish, out []queue.Published) {
	held := passedBy(out, func(p queue.Published) error { return p.Err })
	if len(held) == 0 {
		return
	}
	db.apart(ctx, held, func(ctx context.Context, i int) error {
		if items[i].Price > 0 {
			if err := db.carried(ctx).awaitKey(ctx, items[i]); err != nil {
				return err
			}
		}
		one, err := db.publishIn(ctx, items[i:i+1])
		out[i] = one[0]
		return err
	}, func(i int, err error, late bool) {
		if late {
			err = items[i].KeyHeld()
		}
		if err != nil {
			out[i] = queue.Published{Err: err}
		}
	})
}

// awaitKey waits for whoever has a publish's key in an open transaction, with nothing in hand: what the publish then holds of its project's limit, others want.
func (tx *txn) awaitKey(ctx context.Context, p queue.Publish) error {
	keyed, err := p.ByContent()
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "SAVEPOINT awaited"); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, publishKeyWaitSQL, p.Project, p.Queue, keyed.Key); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "ROLLBACK TO awaited")
	return err
}

// settleHeld settles the messages whose keys the lane passed by.
func (db *DB) settleHeld(ctx context.Context, items []queue.Settle, out []queue.Settled) {
	held := passedBy(out, func(s queue.Settled) error { return s.Err })
	if len(held) == 0 {
		return
	}
	db.apart(ctx, held, func(ctx context.Context, i int) error {
		one, err := db.settleNow(ctx, items[i:i+1])
		if err == nil {
			out[i] = one[0]
		}
		return err
	}, func(i int, err error, late bool) {
		if late {
			err = ledger.KeyHeld()
		}
		if err != nil {
			out[i] = queue.Settled{Err: err}
		}
	})
}

// sendHeld sends the events whose ids the lane passed by.
func (db *DB) sendHeld(ctx context.Context, events []webhook.NewEvent, out []webhook.Sent) {
	held := passedBy(out, func(s webhook.Sent) error { return s.Err })
	if len(held) == 0 {
		return
	}
	db.apart(ctx, held, func(ctx context.Context, i int) error {
		res, err := db.commitSends(ctx, events[i:i+1])
		if err == nil {
			out[i], err = res[0].Value, res[0].Err
		}
		return err
	}, func(i int, err error, late bool) {
		if late {
			err = events[i].IDHeld()
		}
		if err != nil {
			out[i] = webhook.Sent{EventID: events[i].EventID, Err: err}
		}
	})
}
