package faults

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// H-Q14: SIGTERM with long polls, acks and deliveries in flight. Polls end empty, every ack that was answered is committed, what is being
// sent is finished, and nothing waits out a lease: after the restart the rest is delivered at once.
func TestTermUnderLoad(t *testing.T) {
	onBoth(t, func(t *testing.T, store string) {
		const deliveries = 30
		r := receive(t, func(w http.ResponseWriter, q *http.Request) { time.Sleep(300 * time.Millisecond) }) // a slow receiver
		s := spawn(t, store)
		for _, q := range []string{"jobs", "idle"} {
			s.must(t, "POST", "/v1/queue/create", object{"name": q, "max_receive_count": 1})
		}
		s.must(t, "POST", "/v1/webhooks/endpoints", object{"url": r.URL, "timeout_seconds": 30, "max_in_flight": 2})
		for i := range 4 {
			var batch []object
			for j := range 200 {
				batch = append(batch, object{"payload": 200*i + j})
			}
			s.must(t, "POST", "/v1/queue/publish_batch", object{"queue": "jobs", "messages": batch})
		}
		var held []object
		for range 2 {
			held = append(held, s.consume(t, "jobs", 400, 3600, 0)...)
		}
		if len(held) != 800 {
			t.Fatalf("received %d", len(held))
		}
		for i := range deliveries {
			s.must(t, "POST", "/v1/webhooks/events", object{"event_type": "thing.done", "event_id": fmt.Sprint("evt_", i), "payload": i})
		}
		var wg sync.WaitGroup
		polls := make(chan answer, 6)
		for range cap(polls) {
			wg.Go(func() { polls <- s.post(t.Context(), "/v1/queue/consume", object{"queue": "idle", "wait_seconds": 20}) })
		}
		var mu sync.Mutex
		acked := map[string]bool{}
		started := make(chan struct{}, 800)
		for w := range 4 {
			wg.Go(func() {
				for i := w; i < len(held); i += 4 {
					a := s.post(t.Context(), "/v1/queue/ack", object{"queue": "jobs", "receipt_handle": held[i]["receipt_handle"]})
					started <- struct{}{}
					switch {
					case a.ok() && a.data["acked"] == true:
						mu.Lock()
						acked[held[i]["message_id"].(string)] = true
						mu.Unlock()
					case a.err == nil && !a.away():
						t.Errorf("ack: %v", a)
					case a.err != nil:
						return // the server is gone
					}
				}
			})
		}
		for range 100 {
			<-started
		}
		eventually(t, 20*time.Second, "a delivery is under way", func() bool { _, most := r.effects(); return most > 0 })
		took := s.term(t)
		wg.Wait()
		close(polls)
		for p := range polls {
			if !p.ok() || len(p.items("items")) != 0 || p.data["items"] == nil {
				t.Errorf("a poll ended with %v", p)
			}
		}
		if took > 10*time.Second {
			t.Errorf("stopped after %v", took)
		}

		s = spawn(t, store)
		begun := time.Now()
		for _, m := range held {
			a := s.post(t.Context(), "/v1/queue/ack", object{"queue": "jobs", "receipt_handle": m["receipt_handle"]})
			gone := a.status == http.StatusNotFound && a.code == "QUEUE_MESSAGE_NOT_FOUND"
			if done := acked[m["message_id"].(string)]; done && !gone {
				t.Errorf("an ack was answered and is not kept: %v", a)
			} else if !done && !gone && a.data["acked"] != true {
				t.Errorf("a receipt of before the stop: %v", a)
			}
		}
		eventually(t, 25*time.Second, "the rest is delivered, before any lease's end", func() bool {
			keys, _ := r.effects()
			return keys == deliveries
		})
		if keys, most := r.effects(); most != 1 {
			t.Errorf("of %d keys one came %d times", keys, most)
		}
		s.stays(t, "delivered", deliveries)
		t.Logf("stopped in %v with %d acks answered; the rest took %v", took, len(acked), time.Since(begun))
	})
}

// stays sees that so many deliveries come to a state, each by its first attempt.
func (c *client) stays(t testing.TB, state string, n int) {
	t.Helper()
	var l []object
	eventually(t, 30*time.Second, fmt.Sprint(n, " are ", state), func() bool {
		l = c.must(t, "GET", "/v1/webhooks/deliveries?limit=500&state="+state, nil).items("items")
		return len(l) == n
	})
	for _, d := range l {
		if a := d["attempts"].([]any); len(a) != 1 {
			t.Errorf("a delivery took %d attempts: %v", len(a), a)
		}
	}
}
