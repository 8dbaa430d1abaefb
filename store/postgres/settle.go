package postgres

import (
	"context"
	"slices"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

var settleQueuesSQL = stmt("settle_queues")

// Settle applies receipts' acts. Calls of many share commits.
func (db *DB) Settle(ctx context.Context, items ...queue.Settle) ([]queue.Settled, error) {
	out := make([]queue.Settled, len(items))
	err := through(ctx, db, "settle", db.settles, db.settleIn, items, func(i int, s queue.Settled, err error) {
		if err != nil {
			s = queue.Settled{Err: err}
		}
		out[i] = s
	})
	return out, err
}

func (db *DB) commitSettles(ctx context.Context, items []queue.Settle) ([]batch.Result[queue.Settled], error) {
	return commitTx(ctx, db, items, db.settleIn)
}

// settleIn applies items in the transaction that ctx carries: lock, rule, save.
func (db *DB) settleIn(ctx context.Context, items []queue.Settle) ([]queue.Settled, error) {
	tx := db.carried(ctx)
	queues, err := tx.queuesNamed(ctx, items)
	if err != nil {
		return nil, err
	}
	var ids, mayDie []int64
	for _, s := range items {
		ids = append(ids, s.ID)
		if s.Verb == queue.Nack {
			mayDie = append(mayDie, s.ID)
		}
	}
	claims, err := tx.lockClaimsOf(ctx, mayDie)
	if err != nil {
		return nil, err
	}
	rows, err := tx.lockMessages(ctx, ids)
	if err != nil {
		return nil, err
	}
	groups, err := tx.groupsToExtend(ctx, items, rows)
	if err != nil {
		return nil, err
	}
	left, err := tx.leftTo(ctx, items, queues, rows)
	if err != nil {
		return nil, err
	}
	ch := newChanges(tx, claims)
	out := make([]queue.Settled, len(items))
	for i, s := range items {
		q, ok := queues[queueName{s.Project, s.Queue}]
		if !ok {
			out[i].Err = noQueue(s.Queue)
			continue
		}
		out[i] = settleOne(ch, q, rows, groups, left, s)
	}
	return out, ch.flush(ctx, db.hub)
}

// settleOne applies one act. What is wrong with it is in the answer.
func settleOne(ch *changes, q settleQueue, rows map[int64]*queue.Row, groups map[int64]*group, left map[int64]queue.DLQ, s queue.Settle) queue.Settled {
	if s.Lease == 0 && q.requireReceipt {
		return queue.Settled{Err: fault.Invalid("/receipt_handle", "queue %q requires a receipt_handle: a message id cannot tell an old worker from a new one", s.Queue)}
	}
	r := rows[s.ID]
	switch {
	case r == nil || r.Project != s.Project:
		return noMessage(s)
	case r.QueueID != q.id && r.SourceQueue != q.id && left[r.QueueID].ID != q.id:
		return noMessage(s)
	case r.QueueID != q.id && s.Lease != 0:
		return queue.Settled{Reason: queue.LeaseLost} // dead-lettered or redriven since, which ended the receipt
	case r.QueueID != q.id:
		return queue.Settled{Reason: queue.NotInFlight}
	}
	was, g := r.GroupID, groups[r.GroupID]
	of := queue.Group{Free: true}
	if g != nil {
		of = queue.Group{Free: g.inFlight < g.slots, Disabled: g.disabled}
	}
	done, c := r.Settle(ch.tx.now, s, of, q.dlq)
	if !done.Applied {
		return done
	}
	if g != nil {
		g.inFlight += c.Slot
	}
	if c.Delete {
		delete(rows, r.ID)
	}
	ch.message(r, was, c)
	return done
}

// leftTo gives the dead-letter queues of those rows that are not where their act looks for them: a redrive may have taken them from there.
func (tx *txn) leftTo(ctx context.Context, items []queue.Settle, queues map[queueName]settleQueue, rows map[int64]*queue.Row) (map[int64]queue.DLQ, error) {
	moved := map[int64]*queue.Row{}
	for _, s := range items {
		if r := rows[s.ID]; r != nil && r.QueueID != queues[queueName{s.Project, s.Queue}].id {
			moved[r.ID] = r
		}
	}
	if len(moved) == 0 {
		return nil, nil
	}
	return tx.dlqsOf(ctx, moved)
}

func noMessage(s queue.Settle) queue.Settled {
	return queue.Settled{Err: fault.New(fault.MessageNotFound, "queue %q has no such message: it was acked, has expired, or was purged", s.Queue)}
}

// groupsToExtend locks the groups whose room an extend asks for, and with them all that the batch will change, in their order.
func (tx *txn) groupsToExtend(ctx context.Context, items []queue.Settle, rows map[int64]*queue.Row) (map[int64]*group, error) {
	needed := false
	var ids []int64
	for _, s := range items {
		if r := rows[s.ID]; r != nil && r.GroupID != 0 {
			ids = append(ids, r.GroupID)
			needed = needed || s.Verb == queue.Extend
		}
	}
	if !needed {
		return nil, nil
	}
	slices.Sort(ids)
	return tx.lockGroups(ctx, slices.Compact(ids))
}

type queueName struct {
	project int64
	name    string
}

// settleQueue is what an act needs to know of the queue it names.
type settleQueue struct {
	id             int64
	requireReceipt bool
	dlq            queue.DLQ
}

// queuesNamed reads the queues that the items name.
func (tx *txn) queuesNamed(ctx context.Context, items []queue.Settle) (map[queueName]settleQueue, error) {
	out := map[queueName]settleQueue{}
	var names []queueName
	for _, s := range items {
		n := queueName{s.Project, s.Queue}
		if _, ok := out[n]; !ok {
			out[n] = settleQueue{}
			names = append(names, n)
		}
	}
	clear(out)
	rows, err := tx.Query(ctx, settleQueuesSQL,
		column(names, func(n queueName) int64 { return n.project }),
		column(names, func(n queueName) string { return n.name }))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int
		var q settleQueue
		var retention float64
		if err := rows.Scan(&n, &q.id, &q.requireReceipt, &q.dlq.ID, &retention); err != nil {
			return nil, err
		}
		q.dlq.Retention = duration(retention)
		out[names[n-1]] = q
	}
	return out, rows.Err()
}
