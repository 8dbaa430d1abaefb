package wire

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

func checkLadder(t *testing.T, s *server) {
	r := receive(t)
	r.will(status(500, 404, 200))
	e := s.endpoint(t, r.url, object{"tenant": "lad", "retry_ladder": []int{1, 1}})
	sent := s.event(t, object{"event_id": "lad-1", "event_type": "a", "payload": 1, "tenant": "lad"})
	d := s.until(t, sent["deliveries"].([]any)[0].(object)["delivery_id"], "delivered")
	a := attempts(d)
	if len(a) != 3 {
		t.Fatalf("%d attempts, want 3", len(a))
	}
	for i, want := range []object{{"attempt": 1, "cause": "event", "status_code": 500}, {"attempt": 2, "cause": "retry", "status_code": 404}, {"attempt": 3, "cause": "retry", "status_code": 200, "outcome": "delivered"}} {
		is(t, "an attempt", a[i], want)
	}
	for i, g := range r.requests() {
		if g.header.Get("Idempotency-Key") != key(e["endpoint_id"], "lad-1") || g.header.Get("webhook-id") != "lad-1" || g.header.Get("webhook-attempt") != string(rune('1'+i)) {
			t.Errorf("request %d has %v", i+1, g.header)
		}
		if g.header.Get("webhook-signature") != signature(e["secret"], g) {
			t.Errorf("request %d is not signed", i+1)
		}
		if i > 0 {
			if w := g.at.Sub(r.requests()[i-1].at); w < 850*time.Millisecond {
				t.Errorf("attempt %d came %v after the one before; the rung is 1 s", i+1, w)
			}
		}
	}
	// The last rung used up, all definite: failed. One ambiguous: stuck.
	for state, answer := range map[string]func(int, http.ResponseWriter){
		"failed": status(500),
		"stuck": func(n int, w http.ResponseWriter) {
			if n == 1 {
				cut(n, w)
				return
			}
			w.WriteHeader(500)
		},
	} {
		q := receive(t)
		q.will(answer)
		d := s.deliver(t, q.url, object{"tenant": "lad-" + state, "retry_ladder": []int{1}}, nil)
		ended := s.until(t, d["delivery_id"], state)
		if n := len(attempts(ended)); n != 2 {
			t.Errorf("%s after %d attempts, want rungs + 1 = 2", state, n)
		}
		is(t, "an ended delivery", ended, object{"next_attempt_at": nil, "delivered_at": nil})
		if last := attempts(ended)[1]; last["next_attempt_at"] != nil {
			t.Errorf("the last attempt has a next at %v", last["next_attempt_at"])
		}
	}
	// Past the receiver's window an ambiguous one is not sent again.
	w := receive(t)
	w.will(cut)
	d = s.deliver(t, w.url, object{"tenant": "lad-window", "retry_ladder": []int{3, 3}, "receiver_window_seconds": 1}, nil)
	if ended := s.until(t, d["delivery_id"], "stuck"); len(attempts(ended)) != 1 || len(w.requests()) != 1 {
		t.Errorf("past the receiver's window it was sent %d times", len(w.requests()))
	}
	// Copied into a delivery when it is made: the ladder. Read at each attempt: the url.
	q := receive(t)
	q.will(status(500))
	d = s.deliver(t, q.url, object{"tenant": "lad-copy", "retry_ladder": []int{1}}, nil)
	s.until(t, d["delivery_id"], "retrying")
	z := receive(t)
	s.do(t, "PATCH", endpoints+"/"+text(d["endpoint_id"]), object{"url": z.url, "retry_ladder": []int{600}, "policy": "once"})
	d = s.until(t, d["delivery_id"], "delivered")
	is(t, "after a patch", d, object{"policy": "idempotent"})
	if len(z.requests()) != 1 {
		t.Errorf("the new url got %d", len(z.requests()))
	}
}

func checkRetryAfter(t *testing.T, s *server) {
	for _, c := range []struct {
		name      string
		code      int
		after     string
		low, high time.Duration
	}{
		{"429", 429, "300", 299 * time.Second, 302 * time.Second},
		{"503", 503, "300", 299 * time.Second, 302 * time.Second},
		{"503 date", 503, "date", 380 * time.Second, 402 * time.Second},
		{"429 short", 429, "1", 54 * time.Second, 67 * time.Second},
		{"429 past a day", 429, "90000", 86399 * time.Second, 86402 * time.Second},
		{"429 nonsense", 429, "soon", 54 * time.Second, 67 * time.Second},
		{"500", 500, "300", 54 * time.Second, 67 * time.Second},
		{"404", 404, "300", 54 * time.Second, 67 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := receive(t)
			r.will(func(_ int, w http.ResponseWriter) {
				after := c.after
				if after == "date" {
					after = time.Now().Add(400 * time.Second).UTC().Format(http.TimeFormat)
				}
				w.Header().Set("Retry-After", after)
				w.WriteHeader(c.code)
			})
			d := s.until(t, s.deliver(t, r.url, object{"retry_ladder": []int{60}}, nil)["delivery_id"], "retrying")
			a := attempts(d)[0]
			if w := stamp(t, a, "next_attempt_at").Sub(stamp(t, a, "finished_at")); w < c.low || w > c.high {
				t.Errorf("Retry-After %s and a rung of 60 s wait %v", c.after, w)
			}
		})
	}
}

func checkGone(t *testing.T, s *server) {
	r := receive(t)
	r.will(status(410))
	d := s.deliver(t, r.url, nil, nil)
	s.until(t, d["delivery_id"], "failed")
	e := s.do(t, "GET", endpoints+"/"+text(d["endpoint_id"]), nil)
	if is(t, "its endpoint", e, object{"disabled": true}); e["disabled_reason"] == nil {
		t.Error("the endpoint does not say why it is disabled")
	}
	// What comes now waits, and is sent when enabled.
	next := s.event(t, object{"event_type": "a", "payload": 2, "tenant": e["tenant"]})["deliveries"].([]any)
	if len(next) != 1 {
		t.Fatalf("a disabled endpoint's event makes %v", next)
	}
	is(t, "waiting", s.delivery(t, next[0].(object)["delivery_id"]), object{"state": "pending"})
	r.will(status(200))
	s.do(t, "POST", endpoints+"/"+text(d["endpoint_id"])+"/enable", nil)
	s.until(t, next[0].(object)["delivery_id"], "delivered")
}

func checkDisabled(t *testing.T, s *server) {
	r := receive(t)
	e := s.endpoint(t, r.url, object{"tenant": "dis"})
	path := endpoints + "/" + text(e["endpoint_id"])
	is(t, "disable", s.do(t, "POST", path+"/disable", nil), object{"disabled": true})
	id := s.event(t, object{"event_type": "a", "payload": 1, "tenant": "dis"})["deliveries"].([]any)[0].(object)["delivery_id"]
	time.Sleep(500 * time.Millisecond)
	is(t, "while disabled", s.delivery(t, id), object{"state": "pending", "attempts": []any{}})
	if n := len(items(t, s.do(t, "GET", "/v1/webhooks/deliveries?tenant=dis&state=pending", nil))); n != 1 || len(r.requests()) != 0 {
		t.Errorf("while disabled %d are listed and %d sent", n, len(r.requests()))
	}
	is(t, "enable", s.do(t, "POST", path+"/enable", nil), object{"disabled": false, "disabled_reason": nil})
	d := s.until(t, id, "delivered")
	is(t, "sent when enabled", attempts(d)[0], object{"attempt": 1, "cause": "event"})
}

func checkDeleted(t *testing.T, s *server) {
	r := receive(t)
	r.will(status(500))
	d := s.deliver(t, r.url, object{"tenant": "del", "retry_ladder": []int{600}}, nil)
	s.until(t, d["delivery_id"], "retrying")
	path := endpoints + "/" + text(d["endpoint_id"])
	gone := s.do(t, "DELETE", path, nil)
	fields(t, "delete", gone, "deleted")
	is(t, "delete", gone, object{"deleted": true})
	s.call(t, "GET", path, nil).refused(t, 404, "NOT_FOUND")
	s.call(t, "PATCH", path, object{}).refused(t, 404, "NOT_FOUND")
	s.call(t, "DELETE", path, nil).refused(t, 404, "NOT_FOUND")
	if n := len(items(t, s.do(t, "GET", endpoints+"?tenant=del", nil))); n != 0 {
		t.Errorf("a deleted endpoint is listed")
	}
	ended := s.until(t, d["delivery_id"], "cancelled")
	is(t, "its delivery", ended, object{"endpoint_id": d["endpoint_id"], "next_attempt_at": nil})
	if n := len(s.event(t, object{"event_type": "a", "payload": 2, "tenant": "del"})["deliveries"].([]any)); n != 0 {
		t.Error("a deleted endpoint gets events")
	}
	a := s.post(t, events, object{"event_type": "a", "payload": 2, "tenant": "del", "endpoint_ids": []any{d["endpoint_id"]}})
	if a.status != 400 && a.status != 404 {
		t.Errorf("an event to a deleted endpoint: %d %s", a.status, clip(a.raw))
	}
}

// checkInFlight is that a receiver never has more at once than its endpoint allows.
func checkInFlight(t *testing.T, s *server) {
	r := receive(t)
	var now, most atomic.Int32
	r.will(func(int, http.ResponseWriter) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(100 * time.Millisecond)
	})
	s.endpoint(t, r.url, object{"tenant": "flight", "max_in_flight": 2})
	for i := range 10 {
		s.event(t, object{"event_type": "a", "payload": i, "tenant": "flight"})
	}
	eventually(t, "all are delivered", 30*time.Second, func() bool {
		return len(items(t, s.do(t, "GET", "/v1/webhooks/deliveries?tenant=flight&state=delivered", nil))) == 10
	})
	if m := most.Load(); m > 2 || len(r.requests()) != 10 {
		t.Errorf("%d at once, %d in all", m, len(r.requests()))
	}
}
