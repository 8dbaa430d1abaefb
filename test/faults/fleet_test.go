package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fleet is several servers, each in a process of its own, on one PostgreSQL.
type fleet struct {
	t     testing.TB
	store string
	with  []string // flags
	mu    sync.Mutex
	up    []*child
}

func startFleet(t testing.TB, store string, n int, with ...string) *fleet {
	t.Helper()
	f := &fleet{t: t, store: store, with: with}
	for range n {
		f.up = append(f.up, f.spawn())
	}
	return f
}

// spawn starts a server. Its clients keep no connection unused for long: HTTP/1.1 cannot tell who is about to use one that it just ends.
func (f *fleet) spawn() *child { return f.ready(spawn(f.t, f.store, f.with...)) }

func (f *fleet) ready(c *child) *child {
	c.http.Transport.(*http.Transport).IdleConnTimeout = time.Second
	return c
}

// at gives the i-th server, round and round.
func (f *fleet) at(i int) *child {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.up[i%len(f.up)]
}

// replace takes a server out, and others in.
func (f *fleet) replace(out *child, in ...*child) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.up = append(slices.DeleteFunc(slices.Clone(f.up), func(c *child) bool { return c == out }), in...)
}

// traveller is a client of all servers: it stays with one while that answers, else goes on to the next and repeats the call, unchanged.
type traveller struct {
	f       *fleet
	here    int
	roams   bool // each call is of another server, as behind a balancer
	lenient bool // servers are killed: calls may break off
	moved   int
}

// call gives the first answer that is not 503, and who gave it.
func (v *traveller) call(ctx context.Context, path string, body object) (answer, *child) {
	if v.roams {
		v.here++
	}
	for ctx.Err() == nil {
		began, s := time.Now(), v.f.at(v.here)
		a := s.post(ctx, path, body)
		switch {
		case a.err == nil && !a.away():
			return a, s
		case ctx.Err() != nil:
		case a.err != nil && !refused(a.err) && !v.lenient:
			v.f.t.Errorf("a call failed: POST %s %v after %v: %v", path, body, time.Since(began), a)
		}
		v.here++
		v.moved++
		select { // a client's pause
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	return answer{err: context.Cause(ctx)}, nil
}

// refused reports whether no connection was made, so that nothing was sent.
func refused(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// crowd is a receiver with several endpoints, that counts how many POSTs each has open at once.
type crowd struct {
	*receiver
	open, most map[string]int // by path; under receiver.mu
}

func receiveCrowd(t testing.TB, takes time.Duration, at ...string) *crowd {
	c := &crowd{open: map[string]int{}, most: map[string]int{}}
	ready := make(chan struct{})
	c.receiver = receive(t, func(w http.ResponseWriter, q *http.Request) {
		<-ready
		c.mu.Lock()
		c.open[q.URL.Path]++
		c.most[q.URL.Path] = max(c.most[q.URL.Path], c.open[q.URL.Path])
		c.mu.Unlock()
		select {
		case <-time.After(takes):
		case <-q.Context().Done(): // its sender is gone
		}
		c.mu.Lock()
		c.open[q.URL.Path]--
		c.mu.Unlock()
	}, at...)
	close(ready)
	return c
}

// doubled is how many POSTs came beside the first of their key.
func (c *crowd) doubled() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.posts {
		n += len(p) - 1
	}
	return n
}

// sent is how many attempts the server has made, by its log.
func (c *child) sent() int { return strings.Count(c.log.String(), `msg="delivery attempt"`) }

// traffic is publishers, senders and consumers, spread over a fleet, and what they were answered.
type traffic struct {
	f         *fleet
	lenient   bool
	endpoints int
	inFlight  int
	lease     float64 // of the messages consumed

	servers     int                // at the beginning
	feed, drink context.CancelFunc // ends the publishers and senders, the consumers
	feeders     sync.WaitGroup
	drinkers    sync.WaitGroup

	mu       sync.Mutex
	calls    int
	number   int
	messages map[string]int // by id: the number published
	ids      map[int]string // by number: the id received
	receives map[string]int
	acked    map[string]int
	gone     map[string]bool
	events   map[string]bool
	consumed map[*child]int // messages that a server gave
	moved    int
}

const eachConsume = 5

// begin makes the scene and has 2 publishers, 2 senders and 2 consumers a server at work.
func (x *traffic) begin(r *crowd) {
	t := x.f.t
	x.messages, x.ids, x.receives, x.acked = map[string]int{}, map[int]string{}, map[string]int{}, map[string]int{}
	x.gone, x.events, x.consumed = map[string]bool{}, map[string]bool{}, map[*child]int{}
	x.servers = len(x.f.up)
	c := x.f.at(0)
	c.must(t, "POST", "/v1/queue/create", object{"name": "jobs", "max_receive_count": 20})
	for i := range x.endpoints {
		c.must(t, "POST", "/v1/webhooks/endpoints", object{
			"url": fmt.Sprint(r.URL, "/", i), "timeout_seconds": 8, "max_in_flight": x.inFlight, "retry_ladder": []int{1, 1, 1, 1, 1, 1, 1, 1},
		})
	}
	feeding, stop := context.WithCancel(t.Context())
	x.feed = stop
	drinking, stop := context.WithCancel(t.Context())
	x.drink = stop
	for i := range 2 * x.servers {
		v := func() *traveller { return &traveller{f: x.f, here: i, roams: i%2 == 1, lenient: x.lenient} }
		x.feeders.Go(func() { x.publish(feeding, v()) })
		x.feeders.Go(func() { x.send(feeding, v()) })
		x.drinkers.Go(func() { x.consume(drinking, v()) })
	}
	t.Cleanup(func() {
		x.feed()
		x.drink()
		x.feeders.Wait()
		x.drinkers.Wait()
	})
}

func (x *traffic) next() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.number++
	return x.number
}

func (x *traffic) publish(ctx context.Context, v *traveller) {
	for ctx.Err() == nil {
		n := x.next()
		a, _ := v.call(x.f.t.Context(), "/v1/queue/publish", object{"queue": "jobs", "payload": object{"n": n}, "idempotency_key": fmt.Sprint("m", n)})
		id, _ := a.data["message_id"].(string)
		if id == "" {
			x.wrong("publish", n, a)
			return
		}
		x.mu.Lock()
		if was, known := x.messages[id]; known {
			x.f.t.Errorf("%s was answered for %d and %d", id, was, n)
		}
		x.messages[id] = n
		x.calls++
		x.mu.Unlock()
		x.pause(ctx)
	}
}

func (x *traffic) send(ctx context.Context, v *traveller) {
	for ctx.Err() == nil {
		id := fmt.Sprint("evt_", x.next())
		a, _ := v.call(x.f.t.Context(), "/v1/webhooks/events", object{"event_type": "thing.done", "event_id": id, "payload": object{"id": id}})
		if len(a.items("deliveries")) != x.endpoints {
			x.wrong("event", id, a)
			return
		}
		x.mu.Lock()
		x.events[id] = true
		x.calls++
		x.mu.Unlock()
		x.pause(ctx)
	}
}

// wrong is an answer that should not be; not once the test is over.
func (x *traffic) wrong(what string, which any, a answer) {
	if x.f.t.Context().Err() == nil {
		x.f.t.Errorf("%s %v: %v", what, which, a)
	}
}

// pause keeps the load below what the endpoints take at a time, however many servers there are: else those that have something under
// way get each slot that it frees.
func (x *traffic) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(x.servers) * 25 * time.Millisecond):
	}
}

func (x *traffic) consume(ctx context.Context, v *traveller) {
	for ctx.Err() == nil {
		a, from := v.call(ctx, "/v1/queue/consume", object{"queue": "jobs", "max_messages": eachConsume, "visibility_timeout": x.lease, "wait_seconds": 2})
		if ctx.Err() != nil {
			return
		}
		if !a.ok() {
			x.wrong("consume", "", a)
			return
		}
		got := a.items("items")
		if len(got) == 0 {
			x.pause(ctx) // a server that stops answers polls at once
		}
		for _, m := range got {
			id, n := m["message_id"].(string), int(m["payload"].(object)["n"].(float64))
			x.mu.Lock()
			x.consumed[from]++
			x.receives[id] = max(x.receives[id], int(m["delivery_count"].(float64)))
			if other, known := x.ids[n]; known && other != id {
				x.f.t.Errorf("publish %d became two messages, %s and %s", n, other, id)
			}
			x.ids[n] = id
			x.mu.Unlock()
			a, _ := v.call(x.f.t.Context(), "/v1/queue/ack", object{"queue": "jobs", "receipt_handle": m["receipt_handle"]})
			x.mu.Lock()
			switch {
			case a.ok() && a.data["acked"] == true:
				x.acked[id]++
			case a.code == "QUEUE_MESSAGE_NOT_FOUND":
				x.gone[id] = true // an ack whose answer was lost
			case a.ok() && a.data["reason"] == "lease_lost" && x.lenient:
			default:
				x.wrong("ack", id, a)
			}
			x.mu.Unlock()
		}
		x.mu.Lock()
		x.calls++
		x.moved, v.moved = x.moved+v.moved, 0
		x.mu.Unlock()
	}
}

// more waits until n more calls were answered.
func (x *traffic) more(n int) {
	x.f.t.Helper()
	calls := func() int {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.calls
	}
	from := calls()
	eventually(x.f.t, time.Minute, fmt.Sprint(n, " more calls are answered"), func() bool { return calls() >= from+n })
}

// finish ends the load and sees that what was answered is there, once, and that everything comes to rest. extra is how many
// messages may have been received again, and how many deliveries sent.
func (x *traffic) finish(r *crowd, extraReceives, extraPosts int) {
	t := x.f.t
	t.Helper()
	x.feed()
	x.feeders.Wait()
	eventually(t, 2*time.Minute, "every message answered 2xx is acked", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		for id := range x.messages {
			if x.acked[id] == 0 && !x.gone[id] {
				return false
			}
		}
		return true
	})
	x.drink()
	x.drinkers.Wait()
	c := x.f.at(0)
	again := 0
	for id, n := range x.receives {
		again += n - 1
		if x.acked[id] > 1 {
			t.Errorf("%s was acked %d times", id, x.acked[id])
		}
		if _, known := x.messages[id]; !known {
			t.Errorf("%s was received, and answered to no publish", id)
		}
	}
	if again > extraReceives {
		t.Errorf("messages were received %d times more than once; what the dead held was at most %d", again, extraReceives)
	}
	c.comeToRest(t, 2*time.Minute)
	x.delivered(c.client, r, extraPosts)
	if s := c.stats(t, "jobs"); s("message_count") != 0 || s("dlq_count") != 0 {
		t.Errorf("%d messages and %d dead letters are left", s("message_count"), s("dlq_count"))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for path, most := range r.most {
		if most > x.inFlight {
			t.Errorf("endpoint %s had %d POSTs open at once; max_in_flight is %d", path, most, x.inFlight)
		}
	}
	t.Logf("%d messages, %d received again, %d events, most at once of %d: %v, clients moved on %d times", len(x.messages), again, len(x.events), x.inFlight, r.most, x.moved)
}

// delivered sees that each event that is there was delivered to each endpoint by one attempt, whatever others it took.
func (x *traffic) delivered(c *client, r *crowd, extra int) {
	t := x.f.t
	t.Helper()
	events := c.allEvents(t)
	if len(events) != len(x.events) {
		t.Errorf("%d events are there, %d were answered", len(events), len(x.events))
	}
	if keys, _ := r.effects(); keys != x.endpoints*len(events) {
		t.Errorf("%d effects of %d events at %d endpoints", keys, len(events), x.endpoints)
	}
	if n := r.doubled(); n > extra {
		t.Errorf("%d POSTs were not the first of their key; what the dead were sending was %d", n, extra)
	}
	n := 0
	for cursor := ""; ; {
		a := c.must(t, "GET", "/v1/webhooks/deliveries?limit=500&cursor="+cursor, nil)
		for _, d := range a.items("items") {
			n++
			good := 0
			for _, at := range d["attempts"].([]any) {
				if at.(object)["outcome"] == "delivered" {
					good++
				}
			}
			if d["state"] != "delivered" || good != 1 {
				t.Errorf("a delivery is %s with %d good attempts: %v", d["state"], good, d)
			}
		}
		next, more := a.data["next_cursor"].(string)
		if !more {
			break
		}
		cursor = next
	}
	if n != x.endpoints*len(events) {
		t.Errorf("%d deliveries of %d events to %d endpoints", n, len(events), x.endpoints)
	}
}
