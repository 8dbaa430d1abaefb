package sqlite

import (
	"context"
	"errors"

	"github.com/onceward/onceward/queue"
)

// sweepState remembers how far the paging duties of a sweep came.
type sweepState struct {
	expired int64 // message id
	groups  int64 // group id
}

// Sweep does at most limit items of each of the store's own duties, each duty in a transaction of its own, so that one
// that fails keeps no other from its work.
func (db *DB) Sweep(ctx context.Context, limit int) (int, error) {
	var done int
	var failed error
	for _, duty := range []struct {
		op string
		do func(*tx, int) (int, error)
	}{
		{"sweep_leases", (*tx).sweepLeases},
		{"sweep_expired", (*tx).sweepExpired},
		{"sweep_publish_keys", sweepKeys("publish_key_sweep")},
		{"sweep_request_keys", sweepKeys("request_key_sweep")},
		{"sweep_groups", (*tx).sweepGroups},
		{"sweep_deleted_queues", (*tx).sweepDeletedQueues},
		{"sweep_deleted_endpoints", (*tx).sweepDeletedEndpoints},
		{"sweep_ended_deliveries", (*tx).sweepEnded},
		{"sweep_old_events", (*tx).sweepEvents},
		{"sweep_redrives", (*tx).sweepRedrives},
	} {
		n := 0
		err := db.write(ctx, duty.op, 0, func(t *tx) (err error) {
			n, err = duty.do(t, limit)
			return err
		})
		if err != nil {
			failed = errors.Join(failed, err)
		} else {
			done += n
		}
	}
	if done == 0 && failed == nil {
		failed = db.write(ctx, "vacuum", 0, (*tx).vacuum)
	}
	return done, failed
}

// sweepLeases ends the leases that ran out: slots come back, last tries are dead-lettered.
func (t *tx) sweepLeases(limit int) (int, error) {
	queues, err := t.ids("counts_leased")
	n := 0
	for _, q := range queues {
		if err != nil || n >= limit {
			break
		}
		var k int
		k, err = t.lapse(q, limit-n)
		n += k
	}
	return n, err
}

// lapse ends at most limit of a queue's leases that ran out, and answers how many it did. A row that fails is left as
// it is and logged.
func (t *tx) lapse(queueID int64, limit int) (int, error) {
	ids, err := t.ids("message_lapsed", queueID, at(t.now), limit)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	dlq, err := t.dlqOf(queueID)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, id := range ids {
		err := t.nest(func(t *tx) error { return t.lapseOne(id, dlq) })
		switch {
		case t.undone:
			return n, err
		case err != nil:
			t.db.options.Logger.Error("a lease that ran out could not be ended", "message", id, "error", err)
		default:
			n++
		}
	}
	return n, nil
}

func (t *tx) lapseOne(id int64, dlq queue.DLQ) error {
	m, ok, err := t.messageByID(id)
	if err != nil || !ok {
		return err
	}
	was := m
	c, did := m.Lapse(t.now, dlq)
	if !did {
		m.Leased = false // a dead letter's: nothing else comes of it
	}
	if m.QueueID == deliveriesQueue {
		m.VisibleAt = m.PublishedAt // a dead sender's delivery goes before what waits for its endpoint
	}
	if err := t.applyChange(&was, &m, c); err != nil || m.QueueID != deliveriesQueue {
		return err
	}
	return t.lapseDelivery(&m)
}
