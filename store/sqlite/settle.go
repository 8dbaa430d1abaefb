package sqlite

import (
	"context"
	"strconv"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

// Settle applies receipts' acts.
func (db *DB) Settle(ctx context.Context, items ...queue.Settle) ([]queue.Settled, error) {
	out := make([]queue.Settled, len(items))
	op := "settle"
	if len(items) > 0 {
		op = string(items[0].Verb) + " " + strconv.Quote(items[0].Queue)
	}
	err := db.write(ctx, op, 64*len(items), func(t *tx) error {
		for i := range items {
			r, err := t.settle(&items[i])
			if _, ok := err.(*fault.Error); err != nil && !ok {
				return err
			}
			out[i] = r
			out[i].Err = err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// settle applies one act. A fault.Error says that nothing changed.
func (t *tx) settle(s *queue.Settle) (queue.Settled, error) {
	q, err := t.queueByName(s.Project, s.Queue)
	if err != nil {
		return queue.Settled{}, err
	}
	if s.Lease == 0 && q.RequireReceipt {
		return queue.Settled{}, fault.Invalid("/receipt_handle", "queue %q requires a receipt_handle: a message id cannot tell an old worker from a new one", q.Name)
	}
	m, ok, err := t.messageByID(s.ID)
	if err != nil {
		return queue.Settled{}, err
	}
	switch gone := fault.New(fault.MessageNotFound, "the message is gone: acked, expired or purged"); {
	case !ok || m.Project != s.Project:
		return queue.Settled{}, gone
	case m.QueueID == q.ID:
	case s.Lease != 0:
		return queue.Settled{Reason: queue.LeaseLost}, nil // dead-lettered or redriven, which ended its receipt
	case m.SourceQueue == q.ID:
		return queue.Settled{Reason: queue.NotInFlight}, nil
	default:
		return queue.Settled{}, gone
	}
	return t.settleMessage(&m, *s)
}

// settleMessage applies an act to a message's row and stores what comes of it.
func (t *tx) settleMessage(m *queue.Row, s queue.Settle) (queue.Settled, error) {
	dlq, err := t.dlqOf(m.QueueID)
	if err != nil {
		return queue.Settled{}, err
	}
	was := *m
	r, c, err := t.settleRow(m, s, dlq)
	if err != nil || !r.Applied {
		return r, err
	}
	return r, t.applyChange(&was, m, c)
}
