package faults

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// hanging is a receiver that answers nothing for as long as anybody waits.
func hanging(t testing.TB) *receiver {
	return receive(t, func(w http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
}

// latencies sends n events, one after the other, and gives how long the slowest took to come.
func latencies(t *testing.T, c *client, r *receiver, name string, n int) (worst time.Duration) {
	t.Helper()
	for i := range n {
		id := fmt.Sprint("evt_", name, "_", i)
		began := time.Now()
		c.must(t, "POST", "/v1/webhooks/events", object{"event_type": "thing.done", "event_id": id, "payload": i})
		eventually(t, time.Minute, id+" came", func() bool { return !r.came(id).IsZero() })
		worst = max(worst, r.came(id).Sub(began))
	}
	return worst
}

// H-W08: one of 20 endpoints hangs to its time-out, with more waiting for it than it may have in flight. The other 19 do not notice.
func TestOneOfTwentyHangs(t *testing.T) {
	onBoth(t, func(t *testing.T, store string) {
		c, r, dead := serve(t, store), receive(t, nil), hanging(t)
		for range 19 {
			c.must(t, "POST", "/v1/webhooks/endpoints", object{"url": r.URL, "timeout_seconds": 30})
		}
		latencies(t, c, r, "warm", 2)
		before := latencies(t, c, r, "before", 10)
		c.must(t, "POST", "/v1/webhooks/endpoints", object{"url": dead.URL, "timeout_seconds": 30})
		latencies(t, c, r, "fill", 12)
		during := latencies(t, c, r, "during", size(20, 200))
		if _, most := dead.effects(); most == 0 {
			t.Error("nothing was sent to the one that hangs")
		}
		if during > max(5*before, time.Second) { // its time-out is 30 s
			t.Errorf("the slowest of the others took %v, and %v before one of them hung", during, before)
		}
	})
}

// H-W15: more attempts hang than the server makes at a time. An endpoint that answers still gets its events at once.
func TestManyHang(t *testing.T) {
	onBoth(t, func(t *testing.T, store string) {
		const places, endpoints = 64, 12
		c := serve(t, store, func(c *onceward.Config) { c.SendConcurrency = places })
		r, dead := receive(t, nil), hanging(t)
		for range endpoints {
			c.must(t, "POST", "/v1/webhooks/endpoints", object{"url": dead.URL, "timeout_seconds": 20, "max_in_flight": 10, "event_types": []string{"stuck.*"}})
		}
		c.must(t, "POST", "/v1/webhooks/endpoints", object{"url": r.URL, "event_types": []string{"thing.*"}})
		latencies(t, c, r, "warm", 2)
		for i := range 10 { // 120 attempts for 64 places
			c.must(t, "POST", "/v1/webhooks/events", object{"event_type": "stuck.there", "event_id": fmt.Sprint("evt_s", i), "payload": i})
		}
		eventually(t, 20*time.Second, "many hang", func() bool { keys, _ := dead.effects(); return keys >= 40 })
		if worst := latencies(t, c, r, "during", size(10, 100)); worst > 3*time.Second { // the others' time-out is 20 s
			keys, _ := dead.effects()
			t.Errorf("the slowest took %v, with %d attempts that hang", worst, keys)
		}
	})
}
