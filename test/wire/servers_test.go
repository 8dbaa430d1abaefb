package wire

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/pgtest"
)

// Several servers on one PostgreSQL are one: keys, receipts, waits and slots hold over all of them.
func TestServers(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	both := []*server{start(t, url), start(t, url)}
	a, b := both[0], both[1]
	a.queue(t, "two", nil)
	r := receive(t)

	// One key at once on both: one effect, one answer.
	for what, call := range map[string]func(*server) answer{
		"publish": func(s *server) answer {
			return s.post(t, "/v1/queue/publish", object{"queue": "two", "payload": 1, "idempotency_key": "k"})
		},
		"endpoint": func(s *server) answer {
			return s.post(t, endpoints, object{"url": r.url, "tenant": "two", "idempotency_key": "k"})
		},
		"event": func(s *server) answer {
			return s.post(t, events, object{"event_id": "two", "event_type": "a", "payload": 1, "tenant": "nobody"})
		},
		"create": func(s *server) answer {
			return s.post(t, "/v1/queue/create", object{"name": "two2", "idempotency_key": "k"})
		},
	} {
		var wg sync.WaitGroup
		var mu sync.Mutex
		seen, fresh := map[string]int{}, 0
		for i := range 12 {
			wg.Go(func() {
				got := call(both[i%2])
				d := got.ok(t)
				delete(d, "secret")
				mu.Lock()
				defer mu.Unlock()
				if seen[fmt.Sprint(d)]++; !got.replayed(t) {
					fresh++
				}
			})
		}
		if wg.Wait(); len(seen) != 1 || fresh != 1 {
			t.Errorf("%s: one key at once on two servers has %d answers, %d of them fresh", what, len(seen), fresh)
		}
	}
	// A receipt of one acts on the other, an old one on neither.
	old := a.one(t, "two", nil)
	b.settle(t, "extend", "two", old, object{"visibility_timeout": 0})
	young := b.one(t, "two", nil)
	lost(t, "an old receipt", a.settle(t, "ack", "two", old, nil), "lease_lost")
	is(t, "ack", a.settle(t, "ack", "two", young, nil), object{"acked": true})
	// A waiter on one is woken by the other.
	got := make(chan []object, 1)
	go func() { got <- a.consume(t, "two", object{"wait_seconds": 20}) }()
	time.Sleep(300 * time.Millisecond)
	began := time.Now()
	b.publish(t, "two", "wake", nil)
	if m := <-got; len(m) != 1 || time.Since(began) > 5*time.Second {
		t.Errorf("a waiter on the other server got %d after %v", len(m), time.Since(began))
	}
	// Nothing is handed out twice.
	for range 3 {
		m := make([]object, 200)
		for i := range m {
			m[i] = object{"payload": i}
		}
		b.do(t, "POST", "/v1/queue/publish_batch", object{"queue": "two", "messages": m})
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[any]int{}
	for i := range 8 {
		wg.Go(func() {
			for {
				got := both[i%2].consume(t, "two", object{"max_messages": 20})
				if len(got) == 0 {
					return
				}
				mu.Lock()
				for _, m := range got {
					seen[m["message_id"]]++
				}
				mu.Unlock()
			}
		})
	}
	if wg.Wait(); len(seen) != 600 {
		t.Errorf("600 messages came as %d", len(seen))
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%v was handed out %d times", id, n)
		}
	}
	// Each delivery is sent once, whoever sends it.
	for i := range 20 {
		both[i%2].event(t, object{"event_id": fmt.Sprintf("two-%d", i), "event_type": "a", "payload": i, "tenant": "two"})
	}
	eventually(t, "all are delivered", 30*time.Second, func() bool {
		return len(items(t, b.do(t, "GET", "/v1/webhooks/deliveries?tenant=two&state=delivered", nil))) == 20
	})
	if n := len(r.requests()); n != 20 {
		t.Errorf("20 deliveries were sent %d times", n)
	}
	for _, s := range both {
		s.stop(t, 25*time.Second)
	}
}
