package webhook_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

// dying is a store as a worker sees it whose process dies before it says what it did.
type dying struct{ webhook.Sender }

func (dying) SettleDeliveries(context.Context, ...webhook.Outcome) ([]ledger.Applied, error) {
	return nil, fault.New(fault.Unavailable, "the process is dead")
}

// A worker killed after its POST and before the record. Another takes the delivery up after the lease: with policy idempotent it
// is sent again under the same key, with once a person decides.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	for policy, c := range map[ledger.Policy]struct {
		state    webhook.State
		attempts []webhook.Result
		posts    int
	}{
		ledger.Idempotent: {webhook.Delivered, []webhook.Result{webhook.Unknown, webhook.WasDelivered}, 2},
		ledger.Once:       {webhook.Stuck, []webhook.Result{webhook.Unknown}, 1},
	} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(r *rig) {
				r.endpoint(webhook.EndpointSpec{Policy: &policy})
				w, stop := r.work(dying{r.db})
				id := r.send("evt_1")[0].ID
				for len(r.posts("evt_1")) == 0 {
					time.Sleep(10 * time.Millisecond)
				}
				w.Halt()
				stop()
				r.work(nil)
				r.sweep()
				d := r.ended(id, 45*time.Second) // the lease of 25 s, and more than one heartbeat
				r.want(d, c.state, c.attempts...)
				p := r.posts("evt_1")
				if len(p) != c.posts || p[0].key != p[len(p)-1].key {
					t.Errorf("%+v", p)
				}
				if wait := p[len(p)-1].at.Sub(p[0].at); wait > 30*time.Second {
					t.Errorf("taken up after %v; the lease is of 25 s", wait)
				}
			})
		})
	}
}

// deaf is a store as a worker sees it whose process dies before the line before the effect.
type deaf struct{ dying }

func (deaf) BeginDeliveries(context.Context, []*webhook.Job) ([]ledger.Applied, error) {
	return nil, fault.New(fault.Unavailable, "the process is dead")
}

// A worker of policy once killed before it began: the effect cannot have happened, so another makes it.
func TestKilledBeforeBegin(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		r.endpoint(webhook.EndpointSpec{Policy: new(ledger.Once)})
		w, stop := r.work(deaf{dying{r.db}})
		id := r.send("evt_1")[0].ID
		for r.delivery(id).State != webhook.Sending {
			time.Sleep(10 * time.Millisecond)
		}
		w.Halt()
		stop()
		r.work(nil)
		r.sweep()
		r.want(r.ended(id, 45*time.Second), webhook.Delivered, webhook.NotSent, webhook.WasDelivered)
		if n := len(r.posts("evt_1")); n != 1 {
			t.Errorf("%d POSTs", n)
		}
	})
}

// frozen is a store as a worker sees it whose process stands still from its POST on.
type frozen struct {
	webhook.Sender
	took *atomic.Bool
	thaw chan struct{}
}

func (f frozen) TakeDeliveries(ctx context.Context, t webhook.Take) (webhook.Taken, error) {
	if f.took.Load() {
		return webhook.Taken{}, fault.New(fault.Unavailable, "the process stands still")
	}
	got, err := f.Sender.TakeDeliveries(ctx, t)
	f.took.Store(len(got.Jobs) > 0)
	return got, err
}

func (frozen) BeginDeliveries(context.Context, []*webhook.Job) ([]ledger.Applied, error) {
	return nil, fault.New(fault.Unavailable, "the process stands still")
}

func (f frozen) SettleDeliveries(ctx context.Context, out ...webhook.Outcome) ([]ledger.Applied, error) {
	<-f.thaw
	return f.Sender.SettleDeliveries(context.WithoutCancel(ctx), out...)
}

// A worker frozen past its lease and woken again: its word changes nothing, and it is told so.
func TestFrozenWorker(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		r.endpoint(webhook.EndpointSpec{})
		r.answer = func(w http.ResponseWriter, _ *http.Request, n int) {
			if n == 1 {
				w.WriteHeader(503)
			}
		}
		f := frozen{r.db, new(atomic.Bool), make(chan struct{})}
		told := make(chan ledger.Applied, 1)
		r.observe = func(o webhook.Outcome, a ledger.Applied) { told <- a }
		r.work(f)
		r.observe = nil
		id := r.send("evt_1")[0].ID
		for len(r.posts("evt_1")) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		r.work(nil)
		r.want(r.ended(id, 45*time.Second), webhook.Delivered, webhook.Unknown, webhook.WasDelivered)
		close(f.thaw)
		if a := <-told; a.Applied || a.Reason != ledger.Fenced {
			t.Errorf("the frozen worker was told %+v", a)
		}
		r.want(r.delivery(id), webhook.Delivered, webhook.Unknown, webhook.WasDelivered)
	})
}

// A storm: three workers over one store, of which one after the other is killed, a receiver that refuses, hangs up and is slow. In the end
// everything rests: each event is delivered, and was seen twice only where an attempt's outcome was not known, always under one key.
func TestStormComesToRest(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		for range 3 {
			ladder := slices.Repeat([]time.Duration{5 * time.Second}, 20)
			r.endpoint(webhook.EndpointSpec{MaxInFlight: new(4), Timeout: new(5 * time.Second), Ladder: &ladder})
		}
		dice := rand.New(rand.NewPCG(1, 2))
		var mu sync.Mutex
		roll := func(n int) int { mu.Lock(); defer mu.Unlock(); return dice.IntN(n) }
		r.answer = func(w http.ResponseWriter, q *http.Request, n int) {
			switch roll(10) {
			case 0:
				w.WriteHeader(503)
			case 1:
				panic(http.ErrAbortHandler)
			case 2:
				time.Sleep(time.Duration(roll(7000)) * time.Millisecond)
			}
		}
		r.sweep()
		var all []webhook.SentTo
		for i := range 60 {
			all = append(all, r.send(fmt.Sprint("evt_", i))...)
		}
		for range 6 {
			w, stop := r.work(dying{r.db})
			_, alive := r.work(nil)
			time.Sleep(time.Duration(1+roll(8)) * time.Second)
			w.Halt()
			stop()
			alive()
		}
		r.work(nil)
		for _, d := range all {
			if got := r.ended(d.ID, time.Hour); got.State != webhook.Delivered {
				t.Errorf("delivery is %s: %+v", got.State, got.Attempts)
			}
		}
		for i := range 60 {
			counts := map[string]int{}
			for _, p := range r.posts(fmt.Sprint("evt_", i)) {
				counts[p.key]++
			}
			if len(counts) != 3 {
				t.Errorf("event %d: %d keys for 3 endpoints", i, len(counts))
			}
		}
		for _, d := range all {
			got, sent := r.delivery(d.ID), 0
			for i, a := range got.Attempts {
				if a.Attempt != i+1 {
					t.Errorf("attempt %d has the number %d", i+1, a.Attempt)
				}
				if a.Result != webhook.NotSent {
					sent++
				}
			}
			key := webhook.DeliveryKey(r.codec.Encode(ids.Endpoint, 1, d.EndpointID), got.EventID, 0)
			seen := 0
			for _, p := range r.posts(got.EventID) {
				if p.key == key {
					seen++
				}
			}
			if seen > sent {
				t.Errorf("%d POSTs for %d attempts", seen, sent)
			}
		}
	})
}
