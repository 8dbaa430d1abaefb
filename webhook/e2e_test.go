package webhook_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

// want asserts how a delivery ended, with the outcome of each attempt.
func (r *rig) want(d webhook.Delivery, s webhook.State, attempts ...webhook.Result) {
	r.Helper()
	if d.State != s || len(d.Attempts) != len(attempts) {
		r.Fatalf("%s after %d attempts, want %s after %d: %+v", d.State, len(d.Attempts), s, len(attempts), d.Attempts)
	}
	for i, a := range d.Attempts {
		if a.Result != attempts[i] || a.Attempt != i+1 {
			r.Errorf("attempt %d (%d): %s, want %s: %s", i+1, a.Attempt, a.Result, attempts[i], a.Error)
		}
	}
}

func TestDelivered(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		e, secret := r.endpoint(webhook.EndpointSpec{})
		var verified error
		r.answer = func(w http.ResponseWriter, q *http.Request, _ int) {
			verified = webhook.Verify(q.Header, []byte(`{"b":1,"a":2}`), time.Now(), secret)
			w.WriteHeader(204)
		}
		r.work(nil)
		start := time.Now()
		d := r.ended(r.send("evt_1")[0].ID, time.Minute)
		r.want(d, webhook.Delivered, webhook.WasDelivered)
		if d.EndpointID != e.ID || d.Attempts[0].StatusCode != 204 || d.Attempts[0].Cause != webhook.ByEvent || d.DeliveredAt.IsZero() || time.Since(start) > 2*time.Second {
			t.Errorf("%+v after %v", d, time.Since(start))
		}
		if p := r.posts("evt_1"); len(p) != 1 || p[0].body != `{"b":1,"a":2}` || verified != nil {
			t.Errorf("%+v, %v", p, verified)
		}
	})
}

func TestRefusedTwiceThenDelivered(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		r.endpoint(webhook.EndpointSpec{})
		r.answer = func(w http.ResponseWriter, _ *http.Request, n int) {
			if n <= 2 {
				w.WriteHeader(503)
			}
		}
		r.work(nil)
		d := r.ended(r.send("evt_1")[0].ID, time.Hour)
		r.want(d, webhook.Delivered, webhook.Refused, webhook.Refused, webhook.WasDelivered)
		p := r.posts("evt_1")
		if len(p) != 3 || p[0].key != p[2].key || p[2].attempt != "3" || d.Attempts[2].Cause != webhook.ByRetry {
			t.Errorf("%+v", p)
		}
		for i, rung := range []time.Duration{30 * time.Second, 2 * time.Minute} {
			if wait := p[i+1].at.Sub(p[i].at); wait < rung*9/10 || wait > rung*11/10+2*time.Second {
				t.Errorf("rung %d took %v, want %v ± 10 %%", i+1, wait, rung)
			}
		}
	})
}

// The whole ladder of 31 hours.
func TestLadderUsedUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, q *http.Request, n int)
		state  webhook.State
		last   webhook.Result
		ladder []time.Duration
	}{
		"all refused": {func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(404) }, webhook.FailedDlv, webhook.Refused, webhook.DefaultLadder()},
		"one unknown": {func(w http.ResponseWriter, q *http.Request, n int) {
			if n == 2 {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(500)
		}, webhook.StuckDlv, webhook.Refused, []time.Duration{time.Second, time.Minute, time.Hour}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(r *rig) {
				r.endpoint(webhook.EndpointSpec{Ladder: &c.ladder})
				r.answer = c.answer
				r.work(nil)
				start := time.Now()
				tries, sum := len(c.ladder)+1, time.Duration(0)
				for _, d := range c.ladder {
					sum += d
				}
				d := r.ended(r.send("evt_1")[0].ID, 40*time.Hour)
				if d.State != c.state || len(d.Attempts) != tries || d.Attempts[tries-1].Result != c.last {
					t.Errorf("%s after %d attempts: %+v", d.State, len(d.Attempts), d.Attempts)
				}
				if took := time.Since(start); took < sum*9/10 || took > sum*11/10+time.Hour || len(r.posts("evt_1")) != tries {
					t.Errorf("%d POSTs in %v", len(r.posts("evt_1")), took)
				}
			})
		})
	}
}

func TestGoneDisablesTheEndpoint(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		e, _ := r.endpoint(webhook.EndpointSpec{})
		r.answer = func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(410) }
		r.work(nil)
		r.want(r.ended(r.send("evt_1")[0].ID, time.Minute), webhook.FailedDlv, webhook.Refused)
		got, err := r.db.Endpoint(r.Context(), 1, e.ID)
		if err != nil || !got.Disabled || got.Reason == "" {
			t.Errorf("%+v, %v", got, err)
		}
		// What comes now waits.
		sent := r.send("evt_2")
		time.Sleep(time.Hour)
		for _, d := range sent {
			if s := r.delivery(d.ID).State; s != webhook.Pending {
				t.Errorf("a delivery to a disabled endpoint is %s", s)
			}
		}
		if n := len(r.posts("evt_2")); n != 0 {
			t.Errorf("%d POSTs to a disabled endpoint", n)
		}
	})
}

func TestRetryAfterIsHeeded(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		r.endpoint(webhook.EndpointSpec{})
		r.answer = func(w http.ResponseWriter, _ *http.Request, n int) {
			if n == 1 {
				w.Header().Set("Retry-After", "7200")
				w.WriteHeader(429)
			}
		}
		r.work(nil)
		r.want(r.ended(r.send("evt_1")[0].ID, 3*time.Hour), webhook.Delivered, webhook.Refused, webhook.WasDelivered)
		if p := r.posts("evt_1"); p[1].at.Sub(p[0].at) < 2*time.Hour || p[1].at.Sub(p[0].at) > 2*time.Hour+5*time.Second {
			t.Errorf("again after %v", p[1].at.Sub(p[0].at))
		}
	})
}

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
		ledger.Once:       {webhook.StuckDlv, []webhook.Result{webhook.Unknown}, 1},
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

// A worker stopped softly gives back what it did not begin: another has it at once, and no try is counted.
func TestSoftStopOfTheWorker(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		r.endpoint(webhook.EndpointSpec{MaxInFlight: new(2)})
		r.answer = func(http.ResponseWriter, *http.Request, int) { time.Sleep(5 * time.Second) }
		_, stop := r.work(nil)
		var all []webhook.SentTo
		for _, id := range []string{"a", "b", "c", "d"} {
			all = append(all, r.send(id)...)
		}
		time.Sleep(time.Second)
		start := time.Now()
		stop()
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("stopped after %v", took)
		}
		done := 0
		for _, d := range all {
			if r.delivery(d.ID).State == webhook.Delivered {
				done++
			}
		}
		if done != 2 {
			t.Errorf("%d delivered, want the two that were under way", done)
		}
		r.work(nil)
		for _, d := range all {
			r.want(r.ended(d.ID, time.Minute), webhook.Delivered, webhook.WasDelivered)
		}
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
