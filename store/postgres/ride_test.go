package postgres

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/queue"
)

// waits has somebody receive at most n of queue "jobs", known to have no groups, and waits until it waits.
func waits(t *testing.T, ctx context.Context, db *DB, n int) <-chan []queue.Message {
	t.Helper()
	r := queue.Receive{Project: 1, Queue: "jobs", Max: n, Visibility: time.Minute, Waits: true}
	got := make(chan []queue.Message, 1)
	go func() {
		for ctx.Err() == nil {
			m, err := db.Receive(ctx, r)
			if len(m) == 0 && err == nil {
				m = db.WaitMessages(ctx, r)
			}
			if len(m) > 0 || err != nil {
				got <- m
				return
			}
		}
	}()
	eventually(t, "it waits", func() bool {
		id, known := db.plains.Load(namedQueue{1, "jobs"})
		if !known {
			return false
		}
		db.hub.mu.Lock()
		defer db.hub.mu.Unlock()
		return len(db.hub.of(id.(int64)).line) > 0
	})
	return got
}

// What comes while somebody waits is stored and handed out by one transaction; another server's waiter has what is left.
func TestPublishHandsOut(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	a, b := openAt(t, url), openAt(t, url)
	make1(t, a, "jobs")
	const rounds = 10
	together := 0
	for range rounds {
		here, there := waits(t, t.Context(), a, 1), waits(t, t.Context(), b, 1)
		out := publish(t, a, queue.Publish{Queue: "jobs"}, queue.Publish{Queue: "jobs"})
		ids := map[int64]bool{}
		for _, got := range []<-chan []queue.Message{here, there} {
			m := <-got
			if len(m) != 1 || m[0].Lease != 1 || ids[m[0].ID] || m[0].ID != out[0].ID && m[0].ID != out[1].ID {
				t.Fatalf("got %+v, want one of %+v", m, out)
			}
			ids[m[0].ID] = true
			if m[0].ReceivedAt.Equal(out[0].PublishedAt) {
				together++
			}
			if _, err := a.Settle(t.Context(), queue.Settle{Verb: queue.Ack, Project: 1, Queue: "jobs", ID: m[0].ID, Lease: m[0].Lease}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if together < rounds/2 { // one who looks at that moment, since the poll sent it, is no fault
		t.Errorf("%d of %d were handed out in the transaction that stored them", together, rounds)
	}
}

// What is handed out by the commit that stored it needs no look, and no word to other servers; what is left does.
func TestHandedOutIsNotLookedFor(t *testing.T) {
	t.Parallel()
	db := open(t)
	make1(t, db, "jobs")
	const rounds = 10
	for _, n := range []int{1, 2} {
		as := 0 // one whom the poll sent to look at that moment does not ride
		for range rounds {
			got := waits(t, t.Context(), db, 2)
			publish(t, db, slices.Repeat([]queue.Publish{{Queue: "jobs"}}, n)...)
			if m := <-got; len(m) != n {
				t.Fatalf("got %d, want %d", len(m), n)
			}
			id, _ := db.plains.Load(namedQueue{1, "jobs"})
			db.hub.mu.Lock()
			w, full := db.hub.of(id.(int64)), n == 2
			if w.missed == full && w.empty.IsZero() == full {
				as++
			}
			w.missed = false
			db.hub.mu.Unlock()
		}
		if as < 3 {
			t.Errorf("after %d of at most 2: the next is to look as it should in %d of %d rounds", n, as, rounds)
		}
	}
}

// A paused queue hands out nothing, until it goes on.
func TestPublishToPausedHandsOutNothing(t *testing.T) {
	t.Parallel()
	db := open(t)
	make1(t, db, "jobs")
	got := waits(t, t.Context(), db, 10)
	if _, err := db.PauseQueue(t.Context(), 1, "jobs", true); err != nil {
		t.Fatal(err)
	}
	publish(t, db, queue.Publish{Queue: "jobs"})
	select {
	case m := <-got:
		t.Fatalf("a paused queue handed out %v", m)
	case <-time.After(100 * time.Millisecond): // rather than at once
	}
	if _, err := db.PauseQueue(t.Context(), 1, "jobs", false); err != nil {
		t.Fatal(err)
	}
	if m := <-got; len(m) != 1 {
		t.Errorf("got %v once it went on", m)
	}
}
