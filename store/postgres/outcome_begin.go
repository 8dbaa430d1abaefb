package postgres

import (
	"context"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// BeginDeliveries makes the line before the effect durable, and extends leases: see [webhook.Sender].
func (db *DB) BeginDeliveries(ctx context.Context, jobs []*webhook.Job) ([]ledger.Applied, error) {
	return all(ctx, db, "begin deliveries", db.lanes.begin, db.beginJobs, jobs)
}

func (db *DB) commitBegins(ctx context.Context, jobs []*webhook.Job) ([]batch.Result[ledger.Applied], error) {
	out, err := db.beginJobs(ctx, jobs)
	if err != nil {
		return nil, err
	}
	return results(out), nil
}

func (db *DB) beginJobs(ctx context.Context, jobs []*webhook.Job) (out []ledger.Applied, err error) {
	l := lockedDeliveries{jobs: jobs}
	alone := db.carried(ctx) == nil
	err = db.inWith(ctx, l.look, func(ctx context.Context, tx *txn) error {
		groups, err := tx.lockGroupsOfLapsed(ctx, l.messages)
		if err != nil {
			return err
		}
		tx.flushCommits = tx.flushCommits || alone
		ch := newChanges(tx, l.claims)
		out = make([]ledger.Applied, len(jobs))
		for i, j := range jobs {
			if out[i], err = ch.begin(j, l.messages[j.MessageID], groups); err != nil {
				return err
			}
		}
		return ch.flush(ctx, db.hub)
	})
	return out, err
}

// begin extends claim and message together, or neither.
func (ch *changes) begin(j *webhook.Job, m *queue.Row, groups map[int64]*group) (ledger.Applied, error) {
	c := ch.claims[j.ClaimID]
	if c == nil {
		return ledger.Applied{Reason: ledger.Fenced}, nil
	}
	was := c.Claim
	a := c.Begin(ch.tx.now, j.Fence, j.LeaseFor)
	if !a.Applied {
		return a, nil
	}
	lost := ledger.Applied{State: was.State, Reason: queue.LeaseLost}
	if m == nil {
		c.Claim = was
		return lost, nil
	}
	known := groups[m.GroupID]
	s, change := m.Settle(ch.tx.now, queue.Settle{Verb: queue.Extend, Lease: j.Lease, Visibility: j.LeaseFor}, known.seen(), deadLetters)
	if !s.Applied {
		c.Claim = was
		return lost, nil
	}
	if known != nil {
		known.inFlight += change.Slot
	}
	ch.saveClaim(c)
	return a, ch.message(m, m.GroupID, change)
}
