package postgres

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/migrate"
	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/queue"
)

// The database goes away and comes back: callers are told to try again, what was answered is there, and wake-ups work anew.
func TestDatabaseAwayAndBack(t *testing.T) {
	t.Parallel()
	c, err := pgtest.Start(t.Context(), pgtest.Options{Fsync: true})
	if err != nil {
		t.Fatalf("this test needs PostgreSQL: %v", err)
	}
	defer c.Close()
	db, err := Open(t.Context(), c.URL("postgres"), Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	make1(t, db, "jobs")
	stored := map[int64]bool{}
	for range 5 {
		stored[publish(t, db, queue.Publish{Queue: "jobs"})[0].ID] = true
	}
	c.Down()
	_, err = db.Publish(t.Context(), queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`1`)})
	wantAway(t, "publish", err)
	_, err = db.Receive(t.Context(), queue.Receive{Project: 1, Queue: "jobs", Max: 1})
	wantAway(t, "receive", err)
	_, err = db.Settle(t.Context(), queue.Settle{Verb: queue.Ack, Project: 1, Queue: "jobs", ID: 1})
	wantAway(t, "settle", err)
	wantAway(t, "ping", db.Ping(t.Context()))
	if err := c.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the store is back", func() bool { return db.Ping(t.Context()) == nil })
	for _, m := range receive(t, db, "jobs", 10) {
		delete(stored, m.ID)
	}
	if len(stored) > 0 {
		t.Errorf("lost: %v", stored)
	}
}

func wantAway(t *testing.T, what string, err error) {
	t.Helper()
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != fault.Unavailable || e.RetryAfter <= 0 {
		t.Errorf("%s with the database away: %v, want UNAVAILABLE and when to try again", what, err)
	}
}

// Connections that are cut in the middle of traffic lose nothing that was answered.
func TestConnectionsCut(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	db, err := Open(t.Context(), url, Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	axe := openAt(t, url+"&application_name=axe")
	make1(t, db, "jobs")
	var answered, acked sync.Map
	var stored atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for !stop.Load() {
				if out, err := db.Publish(t.Context(), queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`1`)}); err == nil && out[0].Err == nil {
					answered.Store(out[0].ID, true)
					stored.Add(1)
				} else if c := fault.CodeOf(err); c != fault.Unavailable {
					t.Errorf("publish: %v", err)
				}
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			for !stop.Load() {
				m, err := db.Receive(t.Context(), queue.Receive{Project: 1, Queue: "jobs", Max: 5, Visibility: 50 * time.Millisecond})
				if err != nil && fault.CodeOf(err) != fault.Unavailable {
					t.Errorf("receive: %v", err)
				}
				for i := range m {
					s, err := db.Settle(t.Context(), queue.Settle{Verb: queue.Ack, Project: 1, Queue: "jobs", ID: m[i].ID, Lease: m[i].Lease})
					if err == nil && s[0].Applied {
						acked.Store(m[i].ID, true)
					} else if err != nil && fault.CodeOf(err) != fault.Unavailable {
						t.Errorf("settle: %v", err)
					}
				}
			}
		})
	}
	for range 15 {
		some := stored.Load() + 5
		eventually(t, "traffic between the cuts", func() bool { return stored.Load() > some })
		if _, err := axe.pool.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'onceward' AND datname = current_database()"); err != nil {
			t.Fatal(err)
		}
	}
	stop.Store(true)
	wg.Wait()
	there := map[int64]bool{}
	rows, err := axe.ids(t.Context(), "SELECT id FROM messages")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range rows {
		there[id] = true
	}
	n := 0
	answered.Range(func(id, _ any) bool {
		n++
		_, done := acked.Load(id)
		if done && there[id.(int64)] {
			t.Errorf("message %d was acked and is there", id)
		}
		return true
	})
	if n == 0 {
		t.Error("nothing was published")
	}
	// An ack whose answer was lost has taken its message; every other message that was answered is there.
	lost := 0
	answered.Range(func(id, _ any) bool {
		if _, done := acked.Load(id); !done && !there[id.(int64)] {
			lost++
		}
		return true
	})
	if lost > 2*15*5 {
		t.Errorf("%d messages are gone that nobody was told were acked", lost)
	}
	eventually(t, "the listener is back", func() bool {
		var n int
		axe.pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'onceward' AND query LIKE 'LISTEN%' AND datname = current_database()").Scan(&n)
		return n == 1
	})
}

// A store of a newer program is refused, and one of this program is opened by many at once.
func TestOpen(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	var wg sync.WaitGroup
	secrets := make(chan string, 4)
	for range 4 {
		wg.Go(func() {
			db, err := Open(t.Context(), url, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			secrets <- string(db.Secret())
			db.Close()
		})
	}
	wg.Wait()
	close(secrets)
	first := <-secrets
	for s := range secrets {
		if s != first || len(s) != 32 {
			t.Error("the servers of one store have different secrets")
		}
	}
	db := openAt(t, url)
	if _, err := db.pool.Exec(t.Context(), "INSERT INTO migrations (version, name) VALUES (9999, 'later')"); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), url, Options{})
	if _, ok := errors.AsType[*migrate.NewerError](err); !ok {
		t.Errorf("a newer store: %v", err)
	}
}
