package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward/idempotency"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/queue"
)

func make1(t testing.TB, db *DB, name string) queue.Queue {
	t.Helper()
	q, err := db.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func publish(t testing.TB, db *DB, items ...queue.Publish) []queue.Published {
	t.Helper()
	for i := range items {
		items[i].Project = 1
		if items[i].Body == nil {
			items[i].Body = []byte(`{}`)
		}
	}
	out, err := db.Publish(t.Context(), items...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range out {
		if p.Err != nil {
			t.Fatal(p.Err)
		}
	}
	return out
}

func receive(t testing.TB, db *DB, name string, n int) []queue.Message {
	t.Helper()
	m, err := db.Receive(t.Context(), queue.Receive{Project: 1, Queue: name, Max: n, Visibility: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// eventually polls until cond holds.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 30 s", what)
		}
	}
}

// A server hears at once of what another published, and if it does not hear it polls.
func TestOneServerWakesAnother(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	a, b := openAt(t, url), openAt(t, url)
	make1(t, a, "jobs")
	for range 3 {
		got := make(chan int, 1)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			for ctx.Err() == nil {
				if m, err := b.Receive(ctx, queue.Receive{Project: 1, Queue: "jobs", Max: 1}); err == nil && len(m) == 1 {
					got <- m[0].Lease
					return
				}
				b.WaitMessages(ctx, queue.Receive{Project: 1, Queue: "jobs"})
			}
			got <- 0
		}()
		publish(t, a, queue.Publish{Queue: "jobs"})
		if <-got == 0 {
			t.Fatal("the other server never received the message")
		}
	}
}

// Two servers over one database hand out each message once.
func TestTwoServersShareAQueue(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	servers := []*DB{openAt(t, url), openAt(t, url)}
	make1(t, servers[0], "jobs")
	const n = 400
	for i := range n {
		publish(t, servers[i%2], queue.Publish{Queue: "jobs", Group: []string{"", "a", "b"}[i%3], Priority: i % 4})
	}
	var mu sync.Mutex
	seen := map[int64]int{}
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(n)
	for i := range 6 {
		wg.Go(func() {
			db := servers[i%2]
			for deadline := time.Now().Add(30 * time.Second); left.Load() > 0 && time.Now().Before(deadline); {
				for _, m := range receive(t, db, "jobs", 7) {
					mu.Lock()
					seen[m.ID]++
					mu.Unlock()
					if s, err := db.Settle(t.Context(), queue.Settle{Verb: queue.Ack, Project: 1, Queue: "jobs", ID: m.ID, Lease: m.Lease}); err != nil || !s[0].Applied {
						t.Errorf("ack of %d: %+v, %v", m.ID, s, err)
					}
					left.Add(-1)
				}
			}
		})
	}
	wg.Wait()
	if len(seen) != n {
		t.Errorf("received %d messages of %d", len(seen), n)
	}
	for id, k := range seen {
		if k != 1 {
			t.Errorf("message %d was received %d times", id, k)
		}
	}
}

// The second call of a key waits for the first, on another server too, and gets its answer.
func TestOnceAcrossServers(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	servers := []*DB{openAt(t, url), openAt(t, url)}
	r := idempotency.Request{Project: 1, Scope: "POST /x", Key: "k", Hash: make([]byte, 32)}
	var effects, replays atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			db := servers[i%2]
			answer, replay, err := db.Once(t.Context(), r, func(ctx context.Context) ([]byte, error) {
				effects.Add(1)
				if err := db.Ping(ctx); err != nil { // on the transaction's connection
					return nil, err
				}
				q, err := db.CreateQueue(ctx, queue.Spec{Project: 1, Name: "made-once"})
				return []byte(q.Name), err
			})
			if err != nil || string(answer) != "made-once" {
				t.Errorf("answer %q, %v", answer, err)
			}
			if replay {
				replays.Add(1)
			}
		})
	}
	wg.Wait()
	if effects.Load() != 1 || replays.Load() != 7 {
		t.Errorf("%d effects and %d replays of 8 calls", effects.Load(), replays.Load())
	}
	other := r
	other.Hash = append([]byte{1}, make([]byte, 31)...)
	if _, _, err := servers[0].Once(t.Context(), other, nil); fault.CodeOf(err) != fault.IdempotencyKeyReused {
		t.Errorf("another request under the key: %v", err)
	}
}

// An effect that fails leaves nothing, and the key is free.
func TestOnceUndoes(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := idempotency.Request{Project: 1, Scope: "POST /x", Key: "k", Hash: make([]byte, 32)}
	no := errors.New("no")
	for range 2 {
		_, _, err := db.Once(t.Context(), r, func(ctx context.Context) ([]byte, error) {
			_, err := db.CreateQueue(ctx, queue.Spec{Project: 1, Name: "jobs"})
			if err == nil {
				var out []queue.Published
				if out, err = db.Publish(ctx, queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`1`), Group: "g"}); err == nil {
					err = out[0].Err
				}
			}
			return nil, errors.Join(no, err)
		})
		if !errors.Is(err, no) || fault.CodeOf(err) != fault.Internal {
			t.Fatalf("the effect's error: %v", err)
		}
	}
	if _, err := db.Queue(t.Context(), 1, "jobs"); !errors.Is(err, queue.ErrQueueNotFound) {
		t.Errorf("the queue of an effect that failed: %v", err)
	}
}

// A domain's refusal inside a transaction undoes that call alone.
func TestOnceGoesOnAfterARefusal(t *testing.T) {
	t.Parallel()
	db := open(t)
	make1(t, db, "jobs")
	r := idempotency.Request{Project: 1, Scope: "POST /x", Key: "k", Hash: make([]byte, 32)}
	_, _, err := db.Once(t.Context(), r, func(ctx context.Context) ([]byte, error) {
		other := "other"
		if _, err := db.CreateQueue(ctx, queue.Spec{Project: 1, Name: "jobs", DLQ: &other}); !errors.Is(err, queue.ErrQueueExists) {
			return nil, fmt.Errorf("want a refusal, got %w", err)
		}
		_, err := db.CreateQueue(ctx, queue.Spec{Project: 1, Name: "second"})
		return []byte("ok"), err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Queue(t.Context(), 1, "second"); err != nil {
		t.Error(err)
	}
}

// More requests of one key than the pool has connections, and the first calls the store again: nobody waits for itself.
func TestOnceDoesNotStarveThePool(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	db := openAt(t, url+"&pool_max_conns=2")
	make1(t, db, "jobs")
	r := idempotency.Request{Project: 1, Scope: "POST /x", Key: "k", Hash: make([]byte, 32)}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			_, _, err := db.Once(t.Context(), r, func(ctx context.Context) ([]byte, error) {
				if err := db.Ping(ctx); err != nil {
					return nil, err
				}
				_, err := db.Publish(ctx, queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`1`), Group: "g"})
				return []byte("ok"), err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if m := receive(t, db, "jobs", 10); len(m) != 1 {
		t.Errorf("%d messages, want 1", len(m))
	}
}
