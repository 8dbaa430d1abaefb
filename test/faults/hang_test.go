package faults

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// hanging is a receiver that answers nothing for as long as anybody waits.
func hanging(t testing.TB) *receiver {
	return receive(t, func(w http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
}

// latencies sends n events, one after the other, and gives how long they took to come: most of them, and the slowest.
func latencies(t *testing.T, c *client, r *receiver, name string, n int) (most, worst time.Duration) {
	t.Helper()
	var all []time.Duration
	for i := range n {
		id := fmt.Sprint("evt_", name, "_", i)
		began := time.Now()
		c.must(t, "POST", "/v1/webhooks/events", object{"event_type": "thing.done", "event_id": id, "payload": i})
		eventually(t, time.Minute, id+" came", func() bool { return !r.came(id).IsZero() })
		all = append(all, r.came(id).Sub(began))
	}
	return median(all), slices.Max(all)
}

// H-W08: one of 20 endpoints hangs to its time-out, with more waiting for it than it may have in flight. The other 19 do not notice.
func TestOneOfTwentyHangs(t *testing.T) {
	onBoth(t, func(t *testing.T, store string) {
		c, r, dead := serve(t, store), receive(t, nil), hanging(t)
		for range 19 {
			c.must(t, "POST", "/v1/webhooks/endpoints", object{"url": r.URL, "timeout_seconds": 30})
		}
		latencies(t, c, r, "warm", 2)
		before, _ := latencies(t, c, r, "before", 10)
		c.must(t, "POST", "/v1/webhooks/endpoints", object{"url": dead.URL, "timeout_seconds": 30})
		latencies(t, c, r, "fill", 12)
		during, worst := latencies(t, c, r, "during", size(20, 200))
		if _, most := dead.effects(); most == 0 {
			t.Error("nothing was sent to the one that hangs")
		}
		// Its time-out is 30 s. A machine that is busy with other things makes one or the other late, never most of them.
		if during > max(5*before, time.Second) || worst > 20*time.Second {
			t.Errorf("the others took %v, the slowest of them %v, and %v before one of them hung", during, worst, before)
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
		if most, worst := latencies(t, c, r, "during", size(10, 100)); most > 3*time.Second || worst > 15*time.Second { // the others' time-out is 20 s
			keys, _ := dead.effects()
			t.Errorf("they took %v, the slowest %v, with %d attempts that hang", most, worst, keys)
		}
	})
}
