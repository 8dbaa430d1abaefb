package postgres

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

var (
	lockDeliveryClaimsSQL    = stmt("lock_delivery_claims")
	disableEndpointsSQL      = stmt("endpoint_disable")
	disableEndpointGroupsSQL = stmt("endpoint_disable_groups")
	uncancelDeliveriesSQL    = stmt("delivery_uncancel")
)

// SettleDeliveries applies the outcomes of attempts: see [webhook.Sender].
func (db *DB) SettleDeliveries(ctx context.Context, outcomes ...webhook.Outcome) ([]ledger.Applied, error) {
	return all(ctx, db, "settle deliveries", db.lanes.outcome, db.settleOutcomes, outcomes)
}

func (db *DB) commitOutcomes(ctx context.Context, outcomes []webhook.Outcome) ([]batch.Result[ledger.Applied], error) {
	out, err := db.settleOutcomes(ctx, outcomes)
	if len(outcomes) == 1 && badItem(err) {
		// An attempt is only told of: that it cannot be written must undo no outcome.
		db.opts.Logger.ErrorContext(ctx, "an attempt cannot be recorded", "delivery", outcomes[0].Job.DeliveryID, "error", err)
		out, err = db.settleOutcomes(context.WithValue(ctx, untold{}, true), outcomes)
	}
	if err != nil {
		return nil, err
	}
	return results(out), nil
}

// settleOutcomes applies outcomes in two round trips: begin and lock; then, the rules applied, save and commit.
func (db *DB) settleOutcomes(ctx context.Context, outcomes []webhook.Outcome) (out []ledger.Applied, err error) {
	l := lockedDeliveries{jobs: column(outcomes, func(o webhook.Outcome) *webhook.Job { return o.Job })}
	alone := db.carried(ctx) == nil
	err = db.inWith(ctx, l.look, func(ctx context.Context, tx *txn) (err error) {
		tx.flushCommits = tx.flushCommits || alone
		s := &settling{changes: newChanges(tx, l.claims), messages: l.messages, disable: map[int64]refusal{}}
		out = make([]ledger.Applied, len(outcomes))
		for i := range outcomes {
			if out[i], err = s.rule(&outcomes[i]); err != nil {
				return err
			}
		}
		return s.save(ctx, db.hub)
	})
	return out, err
}

// lockedDeliveries are jobs' claims and messages, by id.
type lockedDeliveries struct {
	jobs     []*webhook.Job
	claims   map[int64]*claim
	messages map[int64]*queue.Row
}

// look adds to b the locking of the claims and then of the messages.
func (l *lockedDeliveries) look(b *pgx.Batch) {
	l.claims, l.messages = map[int64]*claim{}, map[int64]*queue.Row{}
	b.Queue(lockDeliveryClaimsSQL, column(l.jobs, func(j *webhook.Job) int64 { return j.ClaimID })).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			c, err := scanClaim(rows)
			if err != nil {
				return err
			}
			l.claims[c.ID] = c
		}
		return rows.Err()
	})
	queueLockMessages(b, column(l.jobs, func(j *webhook.Job) int64 { return j.MessageID }), l.messages)
}

// settling is one transaction's outcomes. One claim may stand in it more than once: each word finds what the former left.
type settling struct {
	*changes
	messages map[int64]*queue.Row
	attempts []attemptRow
	late     []attemptRow
	disable  map[int64]refusal
	lateDone []int64 // claims
	freed    bool
}

// refusal is why an endpoint is to be disabled, and the address that said so.
type refusal struct{ why, url string }

func (s *settling) rule(o *webhook.Outcome) (ledger.Applied, error) {
	c := s.claims[o.Job.ClaimID]
	if c == nil {
		return ledger.Applied{Reason: ledger.NoKey}, nil
	}
	now, before := s.tx.now, c.State
	a := c.Settle(now, o.Job.Fence, o.Kind, o.RetryIn, o.Error, nil)
	if !a.Applied {
		s.refused(c, a, o.Job.Fence, saidLate(o))
		return a, nil
	}
	if before == ledger.Done {
		return a, nil // the same word again
	}
	if c.State == ledger.Done && s.touched[c.ID] == nil {
		s.done = append(s.done, c.ID)
	} else {
		s.saveClaim(c)
	}
	s.attempt(o, c, before)
	if o.Disable != "" {
		s.disable[o.Job.Endpoint.ID] = refusal{o.Disable, o.Job.Endpoint.URL}
		s.group(o.Job.Endpoint.ID, 0, time.Time{}) // locked in its place
	}
	if c.State == ledger.Done && !before.Held() {
		s.lateDone = append(s.lateDone, c.ID)
	}
	m := s.messages[o.Job.MessageID]
	if m == nil {
		return a, nil
	}
	group := m.GroupID
	change, save := webhook.Follow(now, &c.Claim, m, o.Job.Lease, deadLetters)
	if !save {
		return a, nil
	}
	s.freed = s.freed || change.Slot < 0
	return a, s.message(m, group, change)
}

// attempt makes the row of an attempt. One given back has none.
func (s *settling) attempt(o *webhook.Outcome, c *claim, before ledger.State) {
	if o.Kind == ledger.GivenBack {
		return
	}
	a := attemptRow{o.Job.DeliveryID, c.ID, o.Job.Fence, o.Attempt(s.tx.now, c.NextAt)}
	if before.Held() {
		s.attempts = append(s.attempts, a)
	} else {
		s.late = append(s.late, a)
	}
}

// saidLate tells what a worker said whose word changes nothing.
func saidLate(o *webhook.Outcome) string {
	text := string(o.Kind)
	if o.Result != "" {
		text += ", " + string(o.Result)
	}
	if o.Error != "" {
		text += ": " + o.Error
	}
	return text
}

func (s *settling) save(ctx context.Context, h *hub) error {
	s.extra = append(s.extra, func(b *pgx.Batch) {
		if ctx.Value(untold{}) != nil {
			return
		}
		queueAttempts(b, s.attempts)
		queueLateAttempts(b, s.late)
	})
	if len(s.disable) > 0 {
		ids := slices.Sorted(maps.Keys(s.disable))
		s.write(disableEndpointsSQL, ids, column(ids, func(id int64) string { return clean(s.disable[id].why) }),
			column(ids, func(id int64) string { return s.disable[id].url }))
		s.last = append(s.last, func(b *pgx.Batch) { b.Queue(disableEndpointGroupsSQL, ids) })
	}
	if len(s.lateDone) > 0 {
		s.write(uncancelDeliveriesSQL, s.lateDone)
	}
	if s.freed {
		s.tx.afterCommit(func() { h.more(deliveriesQueue) })
	}
	return s.flush(ctx, h)
}
