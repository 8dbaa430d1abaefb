package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// kept compares a store that keeps so many attempts, with their deliveries and claims, ten of each event, with one that keeps few.
func (r *run) kept(ctx context.Context, store string) error {
	return r.deep(ctx, store, hookCalls, func(g *ground, n int) error {
		var ids []int64
		for i := range 10 {
			id, err := g.makeEndpoint(ctx, fmt.Sprint("https://example.com/", i), filled)
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		if _, err := g.makeEndpoint(ctx, "https://example.com/live", "live"); err != nil {
			return err
		}
		if n == 0 {
			n = r.few()
		}
		return g.fillDeliveries(ctx, n, false, ids...)
	})
}

// hookCalls are a cycle of events with a delivery each, in batches, and looks at what is kept.
func hookCalls(ctx context.Context, g *ground) []call {
	n := 0
	var jobs []webhook.Job
	list := func(with func(f *webhook.Filter)) func() error {
		return func() error {
			f := webhook.Filter{Project: 1, Page: queue.Page{Limit: batch}}
			with(&f)
			_, _, err := g.db.Deliveries(ctx, f)
			return err
		}
	}
	const most = 5000 // rows that a list looks at where it finds too few
	return []call{
		{"send 100", batch, true, func() error {
			in := make([]webhook.NewEvent, batch)
			for i := range in {
				n++
				hash := sha256.Sum256(filling)
				in[i] = webhook.NewEvent{Project: 1, EventID: fmt.Sprint("live-", n), Type: "live", Payload: filling, Hash: hash[:]}
			}
			out, err := g.db.Send(ctx, in...)
			if err == nil {
				err = out[0].Err
			}
			return err
		}},
		{"take 100", batch, true, func() error {
			out, err := g.db.TakeDeliveries(ctx, webhook.Take{Owner: "depth", Max: batch, Slack: time.Minute})
			if jobs = out.Jobs; err == nil && len(jobs) != batch {
				err = fmt.Errorf("took %d", len(jobs))
			}
			return err
		}},
		{"settle 100", batch, true, func() error {
			in := make([]webhook.Outcome, len(jobs))
			for i := range in {
				in[i] = webhook.Outcome{Job: &jobs[i], Kind: ledger.Succeeded, Result: webhook.WasDelivered, Status: 200, Latency: time.Millisecond}
			}
			out, err := g.db.SettleDeliveries(ctx, in...)
			if err == nil && !out[0].Applied {
				err = fmt.Errorf("settled and got %+v", out[0])
			}
			return err
		}},
		{"list 100 deliveries", batch, false, list(func(*webhook.Filter) {})},
		{"list 100 of an endpoint", batch, false, list(func(f *webhook.Filter) { f.EndpointID = jobs[0].Endpoint.ID })},
		{"list those of a state that none has", most, false, list(func(f *webhook.Filter) { f.State = webhook.Stuck })},
		{"list those of a day long past", most, false, list(func(f *webhook.Filter) { f.To = time.Unix(0, 0) })},
		{"look at a delivery", 1, false, func() error { _, err := g.db.Delivery(ctx, 1, jobs[0].DeliveryID); return err }},
		{"look for claims to forget", 500, false, func() error { _, err := g.db.ForgetClaims(ctx, 500); return err }},
		{"sweep", 500, false, func() error { _, err := g.db.Sweep(ctx, 500); return err }},
	}
}
