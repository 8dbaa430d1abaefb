package postgres

import (
	"bytes"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

// maxSendRide is the most deliveries of a commit that hands some out; of more the endpoints take turns, for all servers.
const maxSendRide = 64

var sendDeliverTakenSQL = variant(sendDeliverSQL, "r", "n")

// sendRide is the take of a worker that waits, in the transaction of a send: a delivery that has a free slot, and nothing of its endpoint before it, is born
// received and granted, and sent as soon as it is committed.
type sendRide struct {
	*waiter
	jobs []webhook.Job
	of   []int64 // their events

	unread map[int64]error // endpoints that cannot be read, and why
}

// board takes the worker that waits, if there is one.
func (s *sending) board(h *hub) {
	if !s.mayRide || s.ride != nil || len(s.fanout.events) > maxSendRide {
		return
	}
	if me, _ := h.rider(deliveriesQueue); me != nil {
		s.ride = &sendRide{waiter: me}
	}
}

// land gives it back with what it was handed out, and reports whether there was one.
func (s *sending) land(h *hub) (rode bool) {
	if rode = s.ride != nil; rode {
		h.rode(deliveriesQueue, s.ride.waiter)
		s.ride = nil
	}
	return rode
}

// queueDeliver adds to b what stores deliveries, and reads what the attempts of those need that are handed out. stored is told of each.
func (s *sending) queueDeliver(b *pgx.Batch, tx *txn, stored func(event int64, to webhook.SentTo)) {
	f, r := &s.fanout, s.ride
	args := []any{f.events, f.endpoints, f.hashes, tx.ticks.of(f.endpoints)}
	var event int64
	var to webhook.SentTo
	if r == nil {
		b.Queue(sendDeliverSQL, args...).Query(func(rows pgx.Rows) error {
			_, err := pgx.ForEachRow(rows, []any{&to.ID, &event, &to.EndpointID}, func() error {
				s.left = true
				stored(event, to)
				return nil
			})
			return err
		})
		return
	}
	r.jobs, r.of = nil, nil
	args = append(args, r.turns(f.endpoints), r.each(), randomName(), clean(r.take.Owner), seconds(r.take.Slack))
	b.Queue(sendDeliverTakenSQL, args...).Query(func(rows pgx.Rows) error {
		var taken bool
		var hold float64
		var ladder []float64
		j := webhook.Job{Fence: 1, Lease: 1, Attempt: 1, Tries: 1, Cause: webhook.ByEvent, TakenAt: tx.now}
		_, err := pgx.ForEachRow(rows, []any{&to.ID, &event, &to.EndpointID, &taken, &j.ClaimID, &j.MessageID, &j.Project, &hold, (*string)(&j.Policy), &ladder}, func() error {
			stored(event, to)
			if !taken {
				s.left = true
				return nil
			}
			j.DeliveryID, j.Endpoint.ID = to.ID, to.EndpointID
			j.LeaseFor, j.Ladder = duration(hold)+r.take.Slack, durations(ladder)
			r.jobs, r.of = append(r.jobs, j), append(r.of, event)
			return nil
		})
		return err
	})
	queueJobEndpoints(b, f.endpoints, func(of map[int64]webhook.Endpoint, unread map[int64]error) {
		r.unread = unread
		for i := range r.jobs {
			if e, ok := of[r.jobs[i].Endpoint.ID]; ok {
				r.jobs[i].Endpoint = e
			}
		}
	})
}

// turns numbers the deliveries of each endpoint; those that there is no room for are never due.
func (r *sendRide) turns(endpoints []int64) []int32 {
	out, n := make([]int32, len(endpoints)), map[int64]int32{}
	for i, id := range endpoints {
		n[id]++
		if out[i] = n[id]; i >= r.take.Max {
			out[i] = maxTake
		}
	}
	return out
}

// each is how many an endpoint may have in flight.
func (r *sendRide) each() int32 {
	if r.take.Each <= 0 {
		return maxTake - 1
	}
	return int32(min(r.take.Each, maxTake-1))
}

// send commits what rides too: a fail point is named after it.
func (r *sendRide) send(ctx context.Context, tx *txn, b *pgx.Batch) error { return tx.send(ctx, b) }

// handOut gives the worker what the commit has for it.
func (s *sending) handOut(ctx context.Context, db *DB, byRow map[int64]int) {
	r := s.ride
	if r == nil || len(r.jobs) == 0 {
		return
	}
	var jobs []webhook.Job
	for i := range r.jobs {
		e, j := s.items[byRow[r.of[i]]], &r.jobs[i]
		if err := r.unread[j.Endpoint.ID]; err != nil {
			db.unsent(ctx, []error{fmt.Errorf("message %d: %w", j.MessageID, err)})
			continue
		}
		j.EventID, j.EventType, j.Payload = e.EventID, e.Type, bytes.Clone(e.Payload) // the caller has his back
		jobs = append(jobs, *j)
	}
	r.taken = webhook.Taken{Jobs: jobs, Asked: s.began, Verdicts: map[ledger.Verdict]int{ledger.Granted: len(r.jobs)}}
	db.observe("take deliveries", len(jobs), s.began)
}
