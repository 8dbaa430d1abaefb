package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/store/postgres"
)

// H-Q26: servers of a fifo queue are killed while each group is published to, on PostgreSQL by a caller's own transactions too, and while consumers ack, nack, release and
// die. No group gets out of order or has two in flight, and each comes to its end by itself.
func TestFIFOKilled(t *testing.T) {
	onBoth(t, func(t *testing.T, store string) {
		n := 1
		if strings.HasPrefix(store, "postgres") {
			n = 2
		}
		l := &lines{f: startFleet(t, store, n), killed: true}
		l.begin()
		for range size(3, 30) {
			<-time.After(300*time.Millisecond + rand.N(600*time.Millisecond)) // any instant of the load will do
			dead := l.f.at(rand.N(n))
			dead.kill()
			if n > 1 { // the other goes on meanwhile
				l.f.replace(dead)
			}
			l.f.replace(dead, l.f.spawn())
		}
		l.finish()
	})
}

// lines are the groups of a fifo queue, each with one publisher that numbers its messages.
type lines struct {
	f      *fleet
	killed bool // servers are, so calls may break off

	feed, drink context.CancelFunc // ends the publishers, the consumers
	feeders     sync.WaitGroup
	drinkers    sync.WaitGroup

	mu     sync.Mutex
	groups map[string]*line
}

// line is what is known of a group.
type line struct {
	published int       // how many were answered, or committed
	done      int       // the number of the newest that was acked for certain: the others before it were too
	tried     int       // the newest whose ack was sent
	doneAt    time.Time // when the answer came
	held      time.Time // until then the head is leased, if nobody gave it back
	receives  int
}

func (l *lines) begin() {
	t := l.f.t
	l.groups = map[string]*line{}
	l.f.at(0).must(t, "POST", "/v1/queue/create", object{"name": "line", "type": "fifo", "max_receive_count": 1000})
	feeding, stop := context.WithCancel(t.Context())
	l.feed = stop
	drinking, stop := context.WithCancel(t.Context())
	l.drink = stop
	t.Cleanup(func() { l.feed(); l.drink(); l.feeders.Wait(); l.drinkers.Wait() })
	for i := range 4 {
		l.groups[fmt.Sprint("g", i)] = &line{}
	}
	for i := range 4 {
		l.feeders.Go(func() { l.publish(feeding, fmt.Sprint("g", i), i) })
		l.drinkers.Go(func() { l.consume(drinking, i) })
	}
}

// finish ends the load, and sees each group come to its end.
func (l *lines) finish() {
	t := l.f.t
	t.Helper()
	l.feed()
	l.feeders.Wait()
	eventually(t, time.Minute, "each group is at its end", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, g := range l.groups {
			if g.done < g.published {
				return false
			}
		}
		return true
	})
	l.drink()
	l.drinkers.Wait()
	if s := l.f.at(0).stats(t, "line"); s("message_count") != 0 || s("dlq_count") != 0 {
		t.Errorf("%d messages and %d dead letters are left", s("message_count"), s("dlq_count"))
	}
	for name, g := range l.groups {
		t.Logf("%s: %d published, received %d times", name, g.published, g.receives)
		if g.published < 5 || g.receives <= g.published {
			t.Errorf("%s: %d published, received %d times: the test shows nothing", name, g.published, g.receives)
		}
	}
}

func (l *lines) publish(ctx context.Context, group string, seed int) {
	v := &traveller{f: l.f, here: seed, roams: true, lenient: l.killed}
	rng := rand.New(rand.NewPCG(1, uint64(seed)))
	for n := 1; ctx.Err() == nil; n++ {
		if l.killed && strings.HasPrefix(l.f.store, "postgres") && rng.IntN(3) == 0 {
			l.byCaller(group, n, rng.IntN(3) == 0)
		}
		a, _ := v.call(l.f.t.Context(), "/v1/queue/publish", object{"queue": "line", "message_group_id": group, "payload": object{"n": n}, "idempotency_key": fmt.Sprint(group, "-", n)})
		if !a.ok() {
			if l.f.t.Context().Err() == nil {
				l.f.t.Errorf("publish %d of %s: %v", n, group, a)
			}
			return
		}
		l.mu.Lock()
		l.groups[group].published = n
		l.mu.Unlock()
		select { // not more than consumers take
		case <-ctx.Done():
		case <-time.After(15 * time.Millisecond):
		}
	}
}

// byCaller publishes a message in a transaction of a caller's own: whoever publishes it by a server afterwards gets its answer, or publishes it if that rolled back.
func (l *lines) byCaller(group string, n int, rollBack bool) {
	ctx := l.f.t.Context()
	conn, err := pgx.Connect(ctx, strings.Split(l.f.store, "&pool_max_conns")[0])
	if err == nil {
		defer conn.Close(context.WithoutCancel(ctx))
		var tx pgx.Tx
		if tx, err = conn.Begin(ctx); err == nil {
			var out []queue.Published
			out, err = queue.PublishTx(ctx, postgres.Tx(tx), queue.Publish{Queue: "line", Group: group, Body: fmt.Appendf(nil, `{"n":%d}`, n), Key: fmt.Sprint(group, "-", n)})
			switch {
			case err != nil:
			case out[0].Err != nil:
				err = out[0].Err
			case rollBack:
				err = tx.Rollback(ctx)
			default:
				err = tx.Commit(ctx)
			}
		}
	}
	if err != nil && ctx.Err() == nil {
		l.f.t.Errorf("publish %d of %s in a transaction: %v", n, group, err)
	}
}

const lineLease = time.Second

func (l *lines) consume(ctx context.Context, seed int) {
	v := &traveller{f: l.f, here: seed, roams: seed%2 == 0, lenient: l.killed}
	rng := rand.New(rand.NewPCG(2, uint64(seed)))
	for ctx.Err() == nil {
		a, _ := v.call(ctx, "/v1/queue/consume", object{"queue": "line", "max_messages": 2, "visibility_timeout": lineLease.Seconds(), "wait_seconds": 1})
		for _, m := range a.items("items") {
			group, n := m["message_group_id"].(string), int(m["payload"].(object)["n"].(float64))
			until := clock(l.f.t, m["visible_until"])
			l.received(group, n, until)
			verb := "ack"
			switch d := rng.IntN(20); {
			case d < 2:
				verb = "nack"
			case d < 4:
				verb = "release"
			case d < 5:
				continue // died
			}
			l.mu.Lock()
			g := l.groups[group]
			if verb == "ack" {
				g.tried = max(g.tried, n)
			}
			if g.held.Equal(until) {
				g.held = time.Time{}
			}
			l.mu.Unlock()
			body := object{"queue": "line", "receipt_handle": m["receipt_handle"]}
			if verb == "nack" {
				body["delay_seconds"] = 0
			}
			a, _ := v.call(ctx, "/v1/queue/"+verb, body)
			if ctx.Err() == nil && !a.ok() && a.status != 404 {
				l.f.t.Errorf("%s: %v", verb, a)
			}
			if verb == "ack" && (a.ok() && a.data["acked"] == true || a.status == 404) {
				l.mu.Lock()
				if n > g.done {
					g.done, g.doneAt = n, time.Now()
				}
				l.mu.Unlock()
			}
		}
	}
}

// received sees that a message is its group's head, and that nobody holds it. All times are of one clock.
func (l *lines) received(group string, n int, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g, at := l.groups[group], until.Add(-lineLease)
	g.receives++
	switch {
	case n > g.tried+1:
		l.f.t.Errorf("%s: %d was received, and nobody had acked more than %d", group, n, g.tried)
	case n <= g.done && at.After(g.doneAt):
		l.f.t.Errorf("%s: %d was received %v after the ack of %d", group, n, at.Sub(g.doneAt), g.done)
	case at.Before(g.held.Add(-time.Millisecond)) && until.After(g.held):
		l.f.t.Errorf("%s: %d was received %v before the end of the lease that was out", group, n, g.held.Sub(at))
	}
	if until.After(g.held) {
		g.held = until
	}
}
