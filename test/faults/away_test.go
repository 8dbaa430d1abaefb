package faults

import (
	"testing"
	"time"

	"github.com/onceward/onceward/internal/pgtest"
)

// H-L07: the database is away for a while. Every call is told so and when to try again; nothing that was answered is missing, no
// receive was used up, nothing is dead-lettered, and deliveries go on by themselves.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	db := cluster(t)
	c, r := serve(t, db.URL("postgres")+"&pool_max_conns=8"), receive(t, nil)
	awayAndBack(t, c, r, size(3*time.Second, 15*time.Minute), false, db.Down, func() {
		if err := db.Up(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	if keys, most := r.effects(); most > 1 {
		t.Errorf("of %d keys one came %d times: an outcome waits for the database, it is not made again", keys, most)
	}
}

// cluster is a PostgreSQL of the test's own, that it may stop.
func cluster(t testing.TB) *pgtest.Cluster {
	t.Helper()
	db, err := pgtest.Start(t.Context(), pgtest.Options{Fsync: true})
	if err != nil {
		t.Fatalf("this test needs PostgreSQL: %v", err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// awayAndBack takes the store away from a server under load. With room, a call may find what little it needs, as on a full
// disk; then what it was answered is true afterwards.
func awayAndBack(t *testing.T, c *client, r *receiver, away time.Duration, room bool, down, up func()) {
	scene(t, c, r)
	c.must(t, "POST", "/v1/queue/create", object{"name": "held", "max_receive_count": 1})
	c.must(t, "POST", "/v1/queue/create", object{"name": "aside"})
	c.must(t, "POST", "/v1/queue/publish", object{"queue": "held", "payload": 1})
	held := c.consume(t, "held", 1, 3600, 0)
	c.must(t, "POST", "/v1/queue/publish", object{"queue": "held", "payload": 2})
	l := startLoad(t, c, 3, false)
	l.more(60)
	down()
	gone := time.Now()
	eventually(t, 30*time.Second, "a write is refused", func() bool { return l.refused.Load() > 0 })
	// tried is what a call gave that found room, else nothing.
	tried := func(path string, body object) (object, bool) {
		began := time.Now()
		a := c.post(t.Context(), path, body)
		if a.ok() && room {
			return a.data, true
		}
		if !a.away() {
			t.Errorf("%s: %v; want 503 UNAVAILABLE with Retry-After", path, a)
		} else if took := time.Since(began); took > 15*time.Second {
			t.Errorf("%s: refused after %v", path, took)
		}
		return nil, false
	}
	_, published := tried("/v1/queue/publish", object{"queue": "aside", "payload": 1})
	got, _ := tried("/v1/queue/consume", object{"queue": "held", "visibility_timeout": 3600, "wait_seconds": 0, "max_messages": 1})
	_, acked := tried("/v1/queue/ack", object{"queue": "held", "receipt_handle": held[0]["receipt_handle"]})
	_, sent := tried("/v1/webhooks/events", object{"event_type": "thing.done", "payload": 1, "event_id": "never"})
	_, created := tried("/v1/queue/create", object{"name": "never"})
	eventually(t, away+time.Minute, "the time is over", func() bool { return time.Since(gone) > away })
	up()
	l.more(60)
	if !acked {
		c.ack(t, "held", held)
	}
	waited := answer{data: got}.items("items")
	if len(waited) == 0 {
		waited = c.consume(t, "held", 1, 60, 0)
	}
	if len(waited) != 1 || waited[0]["delivery_count"].(float64) != 1 {
		t.Errorf("what nobody could receive meanwhile came as %v", waited)
	}
	c.ack(t, "held", waited)
	if s := c.stats(t, "held"); s("message_count") != 0 || s("dlq_count") != 0 {
		t.Error("what was in flight all the while is not gone by its ack")
	}
	if n := c.stats(t, "aside")("message_count"); published && n != 1 {
		t.Errorf("%d messages are where one was answered 200", n)
	}
	if created {
		c.stats(t, "never")
	}
	if sent {
		l.mu.Lock()
		l.events["never"] = true
		l.mu.Unlock()
	}
	l.check(c, r)
}
