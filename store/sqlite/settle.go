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
		op += " " + strconv.Quote(items[0].Queue)
	}
	err := db.writeHot(ctx, op, len(items), 64*len(items), func(t *tx) error {
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
		return queue.Settled{}, queue.NeedsReceipt(q.Name)
	}
	m, ok, err := t.messageByID(s.ID)
	if err != nil {
		return queue.Settled{}, err
	}
	if ok && m.Project == s.Project && m.QueueID == q.ID {
		return t.settleMessage(&m, *s)
	}
	if ok {
		if ok, err = t.wasIn(&m, q); err != nil {
			return queue.Settled{}, err
		}
	}
	switch {
	case !ok:
		return queue.Settled{}, queue.NoMessage(q.Name)
	case s.Lease != 0:
		return queue.Settled{Reason: queue.LeaseLost}, nil
	}
	return queue.Settled{Reason: queue.NotInFlight}, nil
}

// wasIn reports whether a message left q by being dead-lettered, or, where q is a DLQ, by being redriven: either ended
// its receipt.
func (t *tx) wasIn(m *queue.Row, q *queueRow) (bool, error) {
	if m.SourceQueue == q.ID {
		return true, nil
	}
	if !q.IsDLQ || !m.DeadAt.IsZero() || m.Project != q.Project {
		return false, nil
	}
	in, ok, err := t.queueByID(m.QueueID)
	return ok && in.DLQID == q.ID, err
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
