package webhook_test

import (
	"net/http"
	"testing"
	"time"

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
		"all refused": {func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(404) }, webhook.Failed, webhook.Refused, webhook.DefaultLadder()},
		"one unknown": {func(w http.ResponseWriter, q *http.Request, n int) {
			if n == 2 {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(500)
		}, webhook.Stuck, webhook.Refused, []time.Duration{time.Second, time.Minute, time.Hour}},
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

// Before the next rung the receiver forgets the key of an attempt whose outcome nobody knows: that is said at once, and not only then.
func TestNextRungBeyondTheWindow(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		r.endpoint(webhook.EndpointSpec{Ladder: &[]time.Duration{time.Hour}, Window: new(2 * time.Second), Timeout: new(time.Second)})
		r.answer = func(_ http.ResponseWriter, q *http.Request, _ int) { <-q.Context().Done() }
		r.work(nil)
		start := time.Now()
		d := r.ended(r.send("evt_1")[0].ID, time.Minute)
		r.want(d, webhook.Stuck, webhook.Unknown)
		if took := time.Since(start); took > 5*time.Second || !d.NextAttemptAt.IsZero() || !d.Attempts[0].NextAttemptAt.IsZero() || len(r.posts("evt_1")) != 1 {
			t.Errorf("%d POSTs, stuck after %v: %+v", len(r.posts("evt_1")), took, d)
		}
	})
}

func TestGoneDisablesTheEndpoint(t *testing.T) {
	t.Parallel()
	inBubble(t, func(r *rig) {
		e, _ := r.endpoint(webhook.EndpointSpec{})
		r.answer = func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(410) }
		r.work(nil)
		r.want(r.ended(r.send("evt_1")[0].ID, time.Minute), webhook.Failed, webhook.Refused)
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
