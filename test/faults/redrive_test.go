package faults

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
)

// H-Q23, I12: servers are killed amid a redrive under a load of publishes. At any instant, as another connection to the store sees it, each message is in
// one place and what is dead is what the redrive has not moved; what one server began another ends, on PostgreSQL while the first is gone; no
// kill makes it faster than its rate; and in the end all are there, once.
func TestRedriveKilled(t *testing.T) {
	onBoth(t, func(t *testing.T, store string) {
		n := size(240, 3000)
		r := receive(t, nil)
		c := newCrew(t, store)
		s := c.one()
		scene(t, s, r)
		dead := kills(t, s, n)
		w := watch(t, store, n)
		l := startLoad(t, s, 2, true)
		l.mu.Lock()
		for id, i := range dead {
			l.messages[id] = i
		}
		l.mu.Unlock()
		rate := float64(n) / 6
		a := s.must(t, "POST", "/v1/queue/dlq/redrive/jobs", object{"rate_per_second": rate})
		c.killAmid(l, a, size(3, 20))
		rd := c.over(a)
		if rd["moved"] != float64(n) || rd["left"] != 0.0 || rd["total"] != float64(n) {
			t.Errorf("of %d dead letters: %v", n, rd)
		}
		took := clock(t, rd["finished_at"]).Sub(clock(t, rd["created_at"])).Seconds()
		if least := float64(n-1)/rate - 0.01; took < least {
			t.Errorf("%d at %v a second took %.2f s, less than %.2f", n, rate, took, least)
		}
		w.end()
		l.check(c.one(), r) // each once, and received once since
	})
}

// The same of deliveries: two endpoints that had refused all, their canaries, and a load of events.
func TestRedriveDeliveriesKilled(t *testing.T) {
	onBoth(t, func(t *testing.T, store string) {
		n := size(60, 1000)
		var well atomic.Bool
		r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
			if !well.Load() {
				w.WriteHeader(http.StatusInternalServerError)
			}
		})
		c := newCrew(t, store)
		s := c.one()
		scene(t, s, r)
		other := s.must(t, "POST", "/v1/webhooks/endpoints", object{"url": r.URL + "/other", "timeout_seconds": 2, "max_in_flight": 50}).data
		for _, e := range s.must(t, "GET", "/v1/webhooks/endpoints", nil).items("items") {
			s.must(t, "PATCH", "/v1/webhooks/endpoints/"+e["endpoint_id"].(string), object{"retry_ladder": []int{1}})
		}
		for i := range n {
			s.must(t, "POST", "/v1/webhooks/events", object{"event_type": "thing.done", "event_id": fmt.Sprint("dead_", i), "payload": i})
		}
		eventually(t, 2*time.Minute, "all have failed", func() bool { return c.count(s, "failed") == 2*n })
		well.Store(true)
		for _, e := range s.must(t, "GET", "/v1/webhooks/endpoints", nil).items("items") {
			s.must(t, "PATCH", "/v1/webhooks/endpoints/"+e["endpoint_id"].(string), object{"retry_ladder": []int{1, 1, 1, 1, 1, 1, 1, 1}})
		}
		w := watch(t, store, 0)
		l := startLoad(t, s, 2, true)
		// A kill may cost a delivery one of its two tries, and a canary its endpoint's part: what is left is redriven again.
		kills, total := size(3, 20), 2*n
		for total > 0 {
			a := c.one().must(t, "POST", "/v1/webhooks/redrive", object{"states": []string{"failed", "stuck"}, "rate_per_second": float64(2*n) / 4})
			if a.data["total"] == 0.0 {
				break
			}
			c.killAmid(l, a, kills)
			kills = 0
			rd := c.over(a)
			sum := map[string]float64{}
			for _, p := range c.one().must(t, "GET", "/v1/redrives/"+a.data["redrive_id"].(string)+"/endpoints", nil).items("items") {
				for _, what := range []string{"total", "moved", "left"} {
					sum[what] += p[what].(float64)
				}
			}
			for what, n := range sum {
				if rd[what] != n {
					t.Errorf("the redrive's %s is %v, that of its endpoints together %v", what, rd[what], n)
				}
			}
			eventually(t, time.Minute, "none of the dead is under way", func() bool { // one list of all: between those of two states it could pass from one to the other
				open := []any{"pending", "sending", "retrying"}
				return !slices.ContainsFunc(c.deliveries(c.one(), ""), func(d object) bool {
					return strings.HasPrefix(d["event_id"].(string), "dead_") && slices.Contains(open, d["state"])
				})
			})
			total = c.count(c.one(), "failed") + c.count(c.one(), "stuck")
		}
		w.end()
		l.check(c.one(), r)
		events := len(c.one().allEvents(t))
		if keys, _ := r.effects(); keys != 2*events {
			t.Errorf("the receiver saw %d effects of %d events at two endpoints, one of which is %v", keys, events, other["endpoint_id"])
		}
	})
}

// crew are the servers over a store: one on SQLite, two on PostgreSQL, so that one goes on where another was killed.
type crew struct {
	t     testing.TB
	store string
	all   []*child
}

func newCrew(t testing.TB, store string) *crew {
	c := &crew{t: t, store: store, all: []*child{spawn(t, store)}}
	if !strings.HasPrefix(store, "sqlite:") {
		c.all = append(c.all, spawn(t, store))
	}
	return c
}

// one is a client of a server that lives.
func (c *crew) one() *client { return c.all[0].client }

func (c *crew) redrive(a answer) object {
	c.t.Helper()
	rd := c.one().must(c.t, "GET", "/v1/redrives/"+a.data["redrive_id"].(string), nil).data
	if rd["moved"].(float64)+rd["left"].(float64)+rd["remaining"].(float64) != rd["total"].(float64) {
		c.t.Errorf("a redrive's numbers do not add up: %v", rd)
	}
	return rd
}

// killAmid kills servers in turn, each once the redrive has moved since the kill before, and waits until another goes on with it.
func (c *crew) killAmid(l *load, a answer, kills int) {
	c.t.Helper()
	moved := -1.0
	further := func() bool {
		rd := c.redrive(a)
		was := moved
		moved = max(moved, rd["moved"].(float64))
		return moved > was || rd["state"] != "running"
	}
	for i := range kills {
		eventually(c.t, time.Minute, "the redrive moves", further)
		victim := c.all[0]
		l.target.Store(victim.client)
		l.more(2)
		victim.kill()
		if c.all = c.all[1:]; len(c.all) > 0 {
			c.redrive(a)
			eventually(c.t, time.Minute, "the other server goes on with the redrive", further)
		}
		c.all = append(c.all, spawn(c.t, c.store))
		l.target.Store(c.one())
		if rd := c.redrive(a); rd["state"] != "running" && i < kills-1 {
			c.t.Logf("the redrive was over after %d kills", i+1)
			return
		}
	}
}

// over waits for a redrive's end.
func (c *crew) over(a answer) (rd object) {
	c.t.Helper()
	eventually(c.t, 2*time.Minute, "the redrive's end", func() bool { rd = c.redrive(a); return rd["state"] == "completed" })
	return rd
}

// count counts the deliveries in a state.
func (c *crew) count(s *client, state string) int { return len(c.deliveries(s, state)) }

// deliveries lists those in a state, or all.
func (c *crew) deliveries(s *client, state string) (all []object) {
	for cursor := ""; ; {
		a := s.must(c.t, "GET", "/v1/webhooks/deliveries?limit=500&state="+state+"&cursor="+cursor, nil)
		all = append(all, a.items("items")...)
		next, more := a.data["next_cursor"].(string)
		if !more {
			return all
		}
		cursor = next
	}
}

// kills publishes n messages and dead-letters them: their ids, and the numbers in their payloads.
func kills(t testing.TB, s *client, n int) map[string]int {
	t.Helper()
	out := map[string]int{}
	for len(out) < n {
		var batch []object
		for i := range min(500, n-len(out)) {
			batch = append(batch, object{"payload": object{"n": -1 - len(out) - i}})
		}
		s.must(t, "POST", "/v1/queue/publish_batch", object{"queue": "jobs", "messages": batch})
		var acts []object
		for _, m := range s.consume(t, "jobs", len(batch), 60, 0) {
			out[m["message_id"].(string)] = int(m["payload"].(object)["n"].(float64))
			acts = append(acts, object{"receipt_handle": m["receipt_handle"], "requeue": false})
		}
		s.must(t, "POST", "/v1/queue/nack_batch", object{"queue": "jobs", "items": acts})
	}
	return out
}

// watcher looks at the store beside the servers, a snapshot each time.
type watcher struct {
	t     testing.TB
	stop  context.CancelFunc
	wg    sync.WaitGroup
	looks int
	dead  int // how many messages there were when it began
	last  int64
}

// watch looks for what must not be at any instant, until end. There are dead messages so far, none of which may go.
func watch(t testing.TB, store string, dead int) *watcher {
	name, at := "pgx", strings.TrimSuffix(store, "&pool_max_conns=8")
	if path, ok := strings.CutPrefix(store, "sqlite:"); ok {
		name, at = "sqlite", "file:"+path+"?mode=ro"
		if slices.Contains(sql.Drivers(), "sqlite3") {
			name = "sqlite3"
		}
	}
	db, err := sql.Open(name, at)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	ctx, stop := context.WithCancel(t.Context())
	w := &watcher{t: t, stop: stop, dead: dead}
	if err := db.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM messages WHERE claim_id IS NULL").Scan(&w.last); err != nil {
		t.Fatal(err)
	}
	w.wg.Go(func() {
		defer db.Close()
		for ctx.Err() == nil {
			w.look(ctx, db)
			select {
			case <-ctx.Done():
			case <-time.After(40 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() { stop(); w.wg.Wait() })
	return w
}

func (w *watcher) end() {
	w.t.Helper()
	w.stop()
	w.wg.Wait()
	if w.looks < 10 {
		w.t.Errorf("the store was looked at %d times: that shows nothing", w.looks)
	}
	w.t.Logf("%d looks", w.looks)
}

// look is one statement, which sees one instant.
func (w *watcher) look(ctx context.Context, db *sql.DB) {
	rows, err := db.QueryContext(ctx, fmt.Sprintf(`
		SELECT 'what is dead is not what a redrive has not moved: redrive, dead, total, moved', r.id, (SELECT count(*) FROM messages m
			WHERE m.source_queue = r.queue AND m.dead_at IS NOT NULL AND m.dead_at <= r.created_at) AS there, r.total, r.moved
		FROM redrives r WHERE r.queue > 2 AND (SELECT count(*) FROM messages m
			WHERE m.source_queue = r.queue AND m.dead_at IS NOT NULL AND m.dead_at <= r.created_at) <> r.total - r.moved
		UNION ALL
		SELECT 'what is dead of an endpoint is not what its redrive has not moved: endpoint, dead, total, moved', p.endpoint, (SELECT count(*) FROM messages m
			WHERE m.source_gid = p.endpoint AND m.dead_at IS NOT NULL AND m.dead_at <= r.created_at), p.total, p.moved
		FROM redrives r JOIN redrive_parts p ON p.redrive = r.id WHERE r.state = 'running' AND (SELECT count(*) FROM messages m
			WHERE m.source_gid = p.endpoint AND m.dead_at IS NOT NULL AND m.dead_at <= r.created_at) <> p.total - p.moved
		UNION ALL
		SELECT 'a delivery is not in one place: claim, messages', c.id, count(m.id), 0, 0 FROM claims c LEFT JOIN messages m ON m.claim_id = c.id
		WHERE c.kind = 'd' GROUP BY c.id, c.state HAVING count(m.id) <> CASE c.state WHEN 'done' THEN 0 ELSE 1 END
		UNION ALL
		SELECT 'a message that was dead is missing: how many are there', count(*), 0, 0, 0 FROM messages WHERE claim_id IS NULL AND id <= %d
		HAVING count(*) <> %d`, w.last, w.dead))
	if err != nil {
		return // the store recovers from a kill
	}
	defer rows.Close()
	for rows.Next() {
		var what string
		var v [4]int64
		if err := rows.Scan(&what, &v[0], &v[1], &v[2], &v[3]); err != nil {
			w.t.Error(err)
			return
		}
		w.t.Errorf("%s: %v", what, v)
	}
	if rows.Err() == nil {
		w.looks++
	}
}
