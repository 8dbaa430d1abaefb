package faults

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// load publishes messages and events, each under a key of its own, and repeats what was not answered 2xx under the same
// key, as a client should.
type load struct {
	t      testing.TB
	target atomic.Pointer[client] // where calls go: another after a restart
	die    bool                   // the server's process is killed: calls may break off
	stop   context.CancelFunc
	wg     sync.WaitGroup

	answered atomic.Int64 // calls answered 2xx
	refused  atomic.Int64 // calls answered 503

	mu       sync.Mutex
	messages map[string]int // message ids answered, by the number in their payload
	events   map[string]bool
	tried    int // the numbers begun
}

// startLoad has n publishers and n senders at work until stop is called.
func startLoad(t testing.TB, c *client, n int, die bool) *load {
	ctx, stop := context.WithCancel(t.Context())
	l := &load{t: t, stop: stop, die: die, messages: map[string]int{}, events: map[string]bool{}}
	l.target.Store(c)
	for range n {
		l.wg.Go(func() {
			for ctx.Err() == nil {
				i := l.next()
				a := l.until(ctx, "/v1/queue/publish", object{"queue": "jobs", "payload": object{"n": i}, "idempotency_key": fmt.Sprint("m", i)})
				if id, ok := a.data["message_id"].(string); ok {
					l.mu.Lock()
					if was, known := l.messages[id]; known {
						l.t.Errorf("%s was answered for %d and %d", id, was, i)
					}
					l.messages[id] = i
					l.mu.Unlock()
				}
			}
		})
		l.wg.Go(func() {
			for ctx.Err() == nil {
				id := fmt.Sprint("evt_", l.next())
				a := l.until(ctx, "/v1/webhooks/events", object{"event_type": "thing.done", "event_id": id, "payload": object{"id": id}})
				if a.ok() {
					l.mu.Lock()
					l.events[id] = true
					l.mu.Unlock()
				}
			}
		})
	}
	t.Cleanup(l.end)
	return l
}

func (l *load) next() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tried++
	return l.tried
}

// until repeats a call until it is answered 2xx or ctx ends.
func (l *load) until(ctx context.Context, path string, body object) (a answer) {
	for ctx.Err() == nil {
		began := time.Now()
		a = l.target.Load().post(ctx, path, body)
		switch {
		case a.ok():
			l.answered.Add(1)
			return a
		case ctx.Err() != nil:
		case a.away():
			l.refused.Add(1)
		case a.err == nil || !l.die:
			l.t.Errorf("POST %s after %v: %v", path, time.Since(began), a)
		}
		select { // a client's pause
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	return answer{err: context.Cause(ctx)}
}

// more waits until n more calls were answered.
func (l *load) more(n int64) {
	l.t.Helper()
	from := l.answered.Load()
	eventually(l.t, time.Minute, fmt.Sprint(n, " more calls answered 2xx"), func() bool { return l.answered.Load() >= from+n })
}

func (l *load) end() {
	l.stop()
	l.wg.Wait()
}

// check drains the queue and waits for the deliveries: all that was answered 2xx is there, once, and no message was
// received before.
func (l *load) check(c *client, r *receiver) {
	l.t.Helper()
	l.end()
	seen, numbers := map[string]int{}, map[int]string{}
	for {
		got := c.consume(l.t, "jobs", 500, 60, 0)
		if len(got) == 0 {
			break
		}
		for _, m := range got {
			id, n := m["message_id"].(string), int(m["payload"].(object)["n"].(float64))
			if seen[id]++; seen[id] > 1 {
				l.t.Errorf("%s came twice", id)
			}
			if other, known := numbers[n]; known && other != id {
				l.t.Errorf("publish %d became two messages, %s and %s", n, other, id)
			}
			numbers[n] = id
			if m["delivery_count"].(float64) != 1 {
				l.t.Errorf("%s was received %v times", id, m["delivery_count"])
			}
		}
		c.ack(l.t, "jobs", got)
	}
	for id, n := range l.messages {
		if seen[id] == 0 {
			l.t.Errorf("publish %d was answered %s, which is not there", n, id)
		}
	}
	eventually(l.t, time.Minute, "every event answered 2xx came", func() bool {
		for id := range l.events {
			if r.came(id).IsZero() {
				return false
			}
		}
		return true
	})
	l.rests(c)
	if len(l.messages) == 0 || len(l.events) == 0 {
		l.t.Errorf("%d messages and %d events: the test shows nothing", len(l.messages), len(l.events))
	}
	l.t.Logf("%d messages, %d events, %d calls refused", len(l.messages), len(l.events), l.refused.Load())
}

// comeToRest waits until no delivery is under way. One that waits may be sent, and one that is sent may come to wait, between two looks; but it does not
// wait for so short a time that it is missed by the last.
func (c *client) comeToRest(t testing.TB, within time.Duration) {
	t.Helper()
	eventually(t, within, "no delivery is under way", func() bool {
		for _, state := range []string{"pending", "retrying", "sending", "retrying"} {
			if len(c.must(t, "GET", "/v1/webhooks/deliveries?limit=1&state="+state, nil).items("items")) > 0 {
				return false
			}
		}
		return true
	})
}

// rests waits until every delivery was delivered and nothing is left in the queue.
func (l *load) rests(c *client) {
	l.t.Helper()
	c.comeToRest(l.t, time.Minute)
	for _, state := range []string{"failed", "stuck", "cancelled"} {
		if got := c.must(l.t, "GET", "/v1/webhooks/deliveries?limit=1&state="+state, nil).items("items"); len(got) > 0 {
			l.t.Errorf("a delivery is %s: %v", state, got[0])
		}
	}
	s := c.stats(l.t, "jobs")
	if s("message_count") != 0 || s("dlq_count") != 0 {
		l.t.Errorf("%d messages and %d dead letters are left", s("message_count"), s("dlq_count"))
	}
}

// scene makes the queue and the endpoint that a load needs. One receive that is burnt would dead-letter its message.
func scene(t testing.TB, c *client, r *receiver) {
	t.Helper()
	c.must(t, "POST", "/v1/queue/create", object{"name": "jobs", "max_receive_count": 1})
	c.must(t, "POST", "/v1/webhooks/endpoints", object{"url": r.URL, "timeout_seconds": 5, "max_in_flight": 50, "retry_ladder": []int{1, 1, 1, 1, 1, 1, 1, 1}})
}
