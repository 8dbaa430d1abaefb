package postgres

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/queue"
)

// Everything at once, from two servers, for some seconds: no deadlock reaches anybody, and no group is ever left with work that it does not
// know of, or with a count that is not that of its messages.
func TestStormWithoutDeadlocks(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	servers := []*DB{openAt(t, url), openAt(t, url)}
	two := 2
	for _, n := range []string{"a", "b"} {
		if _, err := servers[0].CreateQueue(t.Context(), queue.Spec{Project: 1, Name: n, MaxReceives: &two}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	var published, received atomic.Int64
	for i := range 4 {
		wg.Go(func() {
			db := servers[i%2]
			for ctx.Err() == nil {
				items := make([]queue.Publish, 1+rand.N(20))
				for j := range items {
					items[j] = queue.Publish{
						Project: 1, Queue: pick("a", "b"), Group: pick("", "g1", "g2", "g3", "g4"), Priority: rand.N(3), Body: []byte(`1`),
						Key: pick("", "", "k1", "k2", "k3"), Hash: make([]byte, 32), Delay: time.Duration(rand.N(3)) * 20 * time.Millisecond,
					}
				}
				out, err := db.Publish(t.Context(), items...)
				if err != nil {
					t.Errorf("publish: %v", err)
				}
				for _, p := range out {
					if p.Err != nil {
						t.Errorf("publish: %v", p.Err)
					}
				}
				published.Add(int64(len(out)))
			}
		})
		wg.Go(func() {
			db := servers[i%2]
			for ctx.Err() == nil {
				name := pick("a", "b")
				m, err := db.Receive(t.Context(), queue.Receive{Project: 1, Queue: name, Max: 1 + rand.N(15), Visibility: 30 * time.Millisecond})
				if err != nil {
					t.Errorf("receive: %v", err)
				}
				received.Add(int64(len(m)))
				acts := make([]queue.Settle, 0, len(m))
				for j := range m {
					s := queue.Settle{Verb: pick(queue.Ack, queue.Ack, queue.Nack, queue.Release, queue.Extend), Project: 1, Queue: name, ID: m[j].ID, Lease: m[j].Lease}
					s.HasDelay, s.Visibility = true, 20*time.Millisecond
					if rand.N(10) > 0 {
						acts = append(acts, s)
					}
				}
				if out, err := db.Settle(t.Context(), acts...); err != nil {
					t.Errorf("settle: %v", err)
				} else {
					for _, s := range out {
						if s.Err != nil && s.Err.Error() == "" {
							t.Error(s.Err)
						}
					}
				}
			}
		})
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			if _, err := servers[0].Sweep(t.Context(), 50); err != nil {
				t.Errorf("sweep: %v", err)
			}
			servers[0].sweeps.mu.Lock() // no rest between looks: the groups are to come and go
			servers[0].sweeps.groups.rest = time.Time{}
			servers[0].sweeps.mu.Unlock()
		}
	})
	wg.Go(func() {
		for ctx.Err() == nil {
			name := pick("a", "b")
			if _, err := servers[1].StartRedrive(t.Context(), queue.RedriveCall{Project: 1, Queue: name}); err == nil {
				for {
					if n, again, err := servers[1].StepRedrives(t.Context(), 20); err != nil {
						t.Errorf("redrive: %v", err)
						break
					} else if n == 0 && again == 0 {
						break
					}
				}
			}
		}
	})
	wg.Go(func() {
		for ctx.Err() == nil {
			wrong, err := groupsWrong(t.Context(), servers[0])
			if err != nil {
				t.Errorf("look at the groups: %v", err)
			}
			for _, w := range wrong {
				t.Error(w)
			}
		}
	})
	wg.Wait()
	if published.Load() == 0 || received.Load() == 0 {
		t.Errorf("published %d, received %d", published.Load(), received.Load())
	}
	var deadlocks int64
	if err := servers[0].pool.QueryRow(t.Context(), "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").Scan(&deadlocks); err != nil {
		t.Fatal(err)
	}
	if deadlocks > 0 {
		t.Errorf("%d deadlocks: some statement locks in another order", deadlocks)
	}
	t.Logf("published %d, received %d", published.Load(), received.Load())
}

func pick[T any](of ...T) T { return of[rand.N(len(of))] }

// groupsWrong looks at one snapshot: what must hold between any two transactions.
func groupsWrong(ctx context.Context, db *DB) ([]string, error) {
	rows, err := db.pool.Query(ctx, `
		SELECT 'group ' || g.id || ' counts ' || g.in_flight || ' in flight and has ' || (SELECT count(*) FROM messages m WHERE m.gid = g.id AND m.leased)
		FROM groups g WHERE g.in_flight <> (SELECT count(*) FROM messages m WHERE m.gid = g.id AND m.leased)
		UNION ALL
		SELECT 'group ' || g.id || ' has work from ' || min(m.vis) || ' and its turn is ' || coalesce(g.next_at::text, 'never') FROM groups g JOIN messages m ON m.gid = g.id
		WHERE NOT m.leased AND (g.next_at IS NULL OR g.next_at > greatest(m.vis, clock_timestamp())) GROUP BY g.id, g.next_at
		UNION ALL
		SELECT 'group ' || g.id || ' begins at ' || least(g.low, g.next_at) || ' and has work from ' || min(m.vis) FROM groups g JOIN messages m ON m.gid = g.id
		WHERE NOT m.leased AND m.vis < least(g.low, g.next_at) GROUP BY g.id, g.low, g.next_at
		UNION ALL
		SELECT 'message ' || m.id || ' is of a group that is not there' FROM messages m WHERE m.gid IS NOT NULL AND NOT EXISTS (SELECT 1 FROM groups g WHERE g.id = m.gid)`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
