package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/queue"
)

var settleQueuesSQL = stmt("settle_queues")

// Settle applies receipts' acts. Calls of many share commits.
func (db *DB) Settle(ctx context.Context, items ...queue.Settle) ([]queue.Settled, error) {
	out := make([]queue.Settled, len(items))
	err := through(ctx, db, "settle", db.settles, db.settleNow, items, func(i int, s queue.Settled, err error) {
		if err != nil {
			s = queue.Settled{Err: err}
		}
		out[i] = s
	})
	db.settleHeld(ctx, items, out)
	return out, err
}

func (db *DB) commitSettles(ctx context.Context, items []queue.Settle) ([]batch.Result[queue.Settled], error) {
	out, err := db.settle(ctx, items, true)
	if err != nil {
		return nil, err
	}
	return results(out), nil
}

// settleNow applies items in the transaction that ctx carries.
func (db *DB) settleNow(ctx context.Context, items []queue.Settle) ([]queue.Settled, error) {
	return db.settle(ctx, items, false)
}

// settleBatch is one commit's items, and what they name: its rows are locked.
type settleBatch struct {
	items  []queue.Settle
	queues map[queueName]settleQueue
	claims map[int64]*claim
	lock   string  // of claims: which statement
	held   []int64 // claims that somebody else has locked, and that a lane passes by
	rows   map[int64]*queue.Row
	groups map[int64]*group    // looked at where something is extended
	left   map[int64]queue.DLQ // of the queues of rows that are not where their act looks for them
}

// settle applies items in two round trips: begin, look and lock; then, the rules applied, save and commit.
func (db *DB) settle(ctx context.Context, items []queue.Settle, alone bool) (out []queue.Settled, err error) {
	s := settleBatch{items: items, lock: lockClaimsOfSQL}
	if alone {
		s.lock = freeClaimsOfSQL
	}
	err = db.inWith(ctx, s.look, func(ctx context.Context, tx *txn) (err error) {
		tx.flushCommits = tx.flushCommits || alone
		if s.held, err = s.passedBy(ctx, tx); err != nil {
			return err
		}
		if s.groups, err = tx.groupsToExtend(ctx, items, s.rows); err != nil {
			return err
		}
		if s.left, err = tx.leftTo(ctx, s); err != nil {
			return err
		}
		ch := newChanges(tx, s.claims)
		out = make([]queue.Settled, len(items))
		for i := range items {
			out[i] = s.one(ch, items[i])
		}
		return ch.flush(ctx, db.hub)
	})
	return out, err
}

// look adds to b the look at queues, and the locking of claims and messages, in their order.
func (s *settleBatch) look(b *pgx.Batch) {
	s.queues, s.claims, s.rows = map[queueName]settleQueue{}, map[int64]*claim{}, map[int64]*queue.Row{}
	var mayDie []int64
	for _, it := range s.items {
		if it.Verb == queue.Nack {
			mayDie = append(mayDie, it.ID)
		}
	}
	queueQueuesNamed(b, s.items, s.queues)
	if len(mayDie) > 0 {
		queueLockClaimsOf(b, s.lock, mayDie, s.claims)
	}
	queueLockMessages(b, column(s.items, func(it queue.Settle) int64 { return it.ID }), s.rows)
}

// passedBy gives the claims that an act may close and that somebody else has locked.
func (s *settleBatch) passedBy(ctx context.Context, tx *txn) ([]int64, error) {
	mayDie := map[int64]*queue.Row{}
	for _, it := range s.items {
		if r := s.rows[it.ID]; r != nil && it.Verb == queue.Nack {
			mayDie[r.ID] = r
		}
	}
	return tx.heldClaims(ctx, mayDie, s.claims)
}

// one applies one act. What is wrong with it is in the answer.
func (all *settleBatch) one(ch *changes, s queue.Settle) queue.Settled {
	q, ok := all.queues[queueName{s.Project, s.Queue}]
	if !ok {
		return queue.Settled{Err: queue.NoQueue(s.Queue)}
	}
	if s.Lease == 0 && q.requireReceipt {
		return queue.Settled{Err: queue.NeedsReceipt(s.Queue)}
	}
	r := all.rows[s.ID]
	switch {
	case r == nil || r.Project != s.Project:
		return noMessage(s)
	case r.QueueID != q.id && r.SourceQueue != q.id && all.left[r.QueueID].ID != q.id:
		return noMessage(s)
	case r.QueueID != q.id && s.Lease != 0:
		return queue.Settled{Reason: queue.LeaseLost} // dead-lettered or redriven since, which ended the receipt
	case r.QueueID != q.id:
		return queue.Settled{Reason: queue.NotInFlight}
	case s.Verb == queue.Nack && slices.Contains(all.held, r.ClaimID):
		return queue.Settled{Err: errHeld}
	}
	was, g := r.GroupID, all.groups[r.GroupID]
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
		delete(all.rows, r.ID)
	}
	ch.message(r, was, c)
	return done
}

// leftTo gives the dead-letter queues of those rows that are not where their act looks for them: a redrive may have taken them from there.
func (tx *txn) leftTo(ctx context.Context, all settleBatch) (map[int64]queue.DLQ, error) {
	moved := map[int64]*queue.Row{}
	for _, s := range all.items {
		if r := all.rows[s.ID]; r != nil && r.QueueID != all.queues[queueName{s.Project, s.Queue}].id {
			moved[r.ID] = r
		}
	}
	if len(moved) == 0 {
		return nil, nil
	}
	return tx.dlqsOf(ctx, moved)
}

func noMessage(s queue.Settle) queue.Settled {
	return queue.Settled{Err: queue.NoMessage(s.Queue)}
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

// queueQueuesNamed adds to b the look at the queues that the items name; they go into out.
func queueQueuesNamed(b *pgx.Batch, items []queue.Settle, out map[queueName]settleQueue) {
	seen := map[queueName]bool{}
	var names []queueName
	for _, s := range items {
		if n := (queueName{s.Project, s.Queue}); !seen[n] {
			seen[n] = true
			names = append(names, n)
		}
	}
	b.Queue(settleQueuesSQL,
		column(names, func(n queueName) int64 { return n.project }),
		column(names, func(n queueName) string { return n.name })).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var n int
			var q settleQueue
			var retention float64
			if err := rows.Scan(&n, &q.id, &q.requireReceipt, &q.dlq.ID, &retention); err != nil {
				return err
			}
			q.dlq.Retention = duration(retention)
			out[names[n-1]] = q
		}
		return rows.Err()
	})
}
