package bench

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/store"
	"github.com/onceward/onceward/store/postgres"
	"github.com/onceward/onceward/store/sqlite"
	"github.com/onceward/onceward/webhook"
)

// BenchmarkHook: the store's part of a delivery, in the process and in batches of 100: microseconds of processor time for each send, take and settling.
func BenchmarkHook(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "hook.db"), sqlite.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { db.Close() })
		hook(b, db, 0)
	})
	b.Run("postgres", func(b *testing.B) {
		url, pid := database(b)
		db, err := postgres.Open(b.Context(), url, postgres.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { db.Close() })
		hook(b, db, pid)
	})
}

func hook(b *testing.B, st store.Store, postmaster int) {
	const endpoints = 20
	for i := range endpoints {
		_, err := st.CreateEndpoint(b.Context(), webhook.Endpoint{
			Project: 1, Tenant: fmt.Sprint("t", i), URL: "http://127.0.0.1/", EventTypes: []string{"*"}, Secrets: []webhook.Secret{{Sealed: make([]byte, 60)}},
			Timeout: 30 * time.Second, Ladder: []time.Duration{time.Minute, time.Hour}, Policy: ledger.Idempotent, MaxInFlight: 10,
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	n := 0
	send := func() time.Duration {
		events := make([]webhook.NewEvent, batchSize)
		for i := range events {
			n++
			hash := sha256.Sum256([]byte(text))
			events[i] = webhook.NewEvent{Project: 1, EventID: fmt.Sprint("e", n), Type: "ticket.resolved", Tenant: fmt.Sprint("t", n%endpoints), Payload: []byte(text), Hash: hash[:]}
		}
		before := usage(b, postmaster)
		sent, err := st.Send(b.Context(), events...)
		if err != nil || sent[0].Err != nil || len(sent[0].Deliveries) != 1 {
			b.Fatal(err, sent)
		}
		return usage(b, postmaster) - before
	}
	round := func() (take, settle time.Duration) {
		a := usage(b, postmaster)
		t, err := st.TakeDeliveries(b.Context(), webhook.Take{Owner: "bench", Max: batchSize, Slack: 10 * time.Second})
		if err != nil || len(t.Jobs) != batchSize {
			b.Fatal(err, len(t.Jobs))
		}
		c := usage(b, postmaster)
		out := make([]webhook.Outcome, len(t.Jobs))
		for i := range t.Jobs {
			out[i] = webhook.Outcome{Job: &t.Jobs[i], Kind: ledger.Succeeded, Result: webhook.WasDelivered, Status: 200, Latency: 3 * time.Millisecond, Ago: 4 * time.Millisecond, Response: []byte{}}
		}
		applied, err := st.SettleDeliveries(b.Context(), out...)
		if err != nil || !applied[0].Applied {
			b.Fatal(err, applied)
		}
		return c - a, usage(b, postmaster) - c
	}
	for range 20 {
		send()
	}
	for range 10 {
		round()
	}
	var s, t, e time.Duration
	rounds := max(1, b.N/batchSize)
	for range rounds {
		s += send()
	}
	began := time.Now()
	for range rounds {
		x, y := round()
		t, e = t+x, e+y
	}
	took := time.Since(began)
	per := func(d time.Duration) float64 { return d.Seconds() * 1e6 / float64(rounds*batchSize) }
	b.ReportMetric(per(s), "send-us")
	b.ReportMetric(per(t), "take-us")
	b.ReportMetric(per(e), "settle-us")
	b.ReportMetric(float64(rounds*batchSize)/took.Seconds(), "per-s")
	b.ReportMetric(0, "ns/op")
}
