package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

var (
	takeJobsSQL      = stmt("take_jobs")
	takeEndpointsSQL = stmt("take_endpoints")
)

// The server's own queues.
const (
	deliveriesQueue int64 = 1
	deadDeliveries  int64 = 2
)

// deadLetters is where dead deliveries go, to stay until their claim is forgotten.
var deadLetters = queue.DLQ{ID: deadDeliveries, Retention: 3155760000 * time.Second}

// queueJobs reads what the granted attempts need, and gives their jobs, in order. Those of one endpoint share what is read of it. The commit is on its way by
// then: what cannot be read of one is told apart, and keeps back no other.
func queueJobs(b *pgx.Batch, granted []grantedJob, give func(jobs []webhook.Job, unread []error)) {
	if len(granted) == 0 {
		return
	}
	jobs, missing := make([]webhook.Job, len(granted)), make([]error, len(granted))
	at := make(map[int64]int, len(granted))
	for i, g := range granted {
		at[g.claim.ID] = i
		jobs[i] = g.job()
		missing[i] = fmt.Errorf("claim %d has no delivery", g.claim.ID)
	}
	var endpoints map[int64]webhook.Endpoint
	var unread map[int64]error
	queueJobEndpoints(b, column(granted, func(g grantedJob) int64 { return g.group }), func(of map[int64]webhook.Endpoint, not map[int64]error) { endpoints, unread = of, not })
	b.Queue(takeJobsSQL, column(granted, func(g grantedJob) int64 { return g.claim.ID })).Query(func(rows pgx.Rows) error {
		var claim, endpoint int64
		var ladder []float64
		var j webhook.Job
		_, err := pgx.ForEachRow(rows, []any{&claim, &j.DeliveryID, &endpoint, (*string)(&j.Cause), &ladder, &j.KeySend, &j.EventID, &j.EventType, &j.Payload}, func() error {
			to, found := &jobs[at[claim]], false
			if to.Endpoint, found = endpoints[endpoint]; !found {
				missing[at[claim]] = cmp.Or(unread[endpoint], fmt.Errorf("delivery %d is of endpoint %d, and not of its message's", j.DeliveryID, endpoint))
				return nil
			}
			missing[at[claim]] = nil
			to.DeliveryID, to.KeySend, to.EventID, to.EventType, to.Payload = j.DeliveryID, j.KeySend, j.EventID, j.EventType, j.Payload
			to.Ladder = durations(ladder)
			if to.Cause = webhook.ByRetry; to.Tries == 1 {
				to.Cause = j.Cause
			}
			return nil
		})
		if err != nil {
			return err
		}
		var good []webhook.Job
		var bad []error
		for i := range jobs {
			if missing[i] != nil {
				bad = append(bad, fmt.Errorf("message %d: %w", jobs[i].MessageID, missing[i]))
				continue
			}
			good = append(good, jobs[i])
		}
		give(good, bad)
		return nil
	})
}

// queueJobEndpoints reads the endpoints of attempts, and tells of each that cannot be read why.
func queueJobEndpoints(b *pgx.Batch, ids []int64, give func(of map[int64]webhook.Endpoint, unread map[int64]error)) {
	b.Queue(takeEndpointsSQL, slices.Compact(slices.Sorted(slices.Values(ids)))).Query(func(rows pgx.Rows) error {
		of, unread := map[int64]webhook.Endpoint{}, map[int64]error{}
		for rows.Next() {
			if e, err := scanEndpoint(rows); err != nil {
				unread[e.ID] = err
			} else {
				of[e.ID] = e
			}
		}
		give(of, unread)
		return rows.Err()
	})
}

// unsent tells of deliveries that were taken and that nobody can send. They come again when their leases are over.
func (db *DB) unsent(ctx context.Context, why []error) {
	for _, err := range why {
		db.opts.Logger.ErrorContext(ctx, "a delivery was taken and cannot be sent; it comes again when its lease is over", "error", err)
	}
}

// job is what claim and message say of the attempt.
func (g grantedJob) job() webhook.Job {
	return webhook.Job{
		ClaimID: g.claim.ID, Fence: g.claim.Fence, MessageID: g.ID, Lease: g.Lease, LeaseFor: g.lease, Project: g.claim.Project,
		Attempt: g.claim.Attempt, Tries: g.claim.Tries, Policy: g.claim.Policy, TakenAt: g.ReceivedAt,
	}
}

func durations(seconds []float64) []time.Duration {
	out := make([]time.Duration, len(seconds))
	for i, s := range seconds {
		out[i] = duration(s)
	}
	return out
}

func inSeconds(ds []time.Duration) []float64 { return column(ds, seconds) }

// deadAttempt is the try of a holder that died.
type deadAttempt struct {
	claim, fence int64
	first        bool // since the last reopening
	webhook.Attempt
}

// deadHolder makes the attempt of a holder whose lease is over, as claim and message were under it. next is when another comes; zero: never.
func deadHolder(c *ledger.Claim, m *queue.Row, now, next time.Time) deadAttempt {
	received := time.Time{}
	if m != nil {
		received = m.ReceivedAt
	}
	a := webhook.Died(now, c, received)
	a.NextAttemptAt = next
	return deadAttempt{c.ID, c.Fence, c.Tries == 1, a}
}
