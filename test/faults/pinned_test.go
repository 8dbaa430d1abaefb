package faults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/pgtest"
)

// H-Q12: somebody keeps a REPEATABLE READ transaction open while messages flow, so that the database can clean up none of what was
// consumed. Neither a receive nor the counts walk over it.
func TestPinnedSnapshot(t *testing.T) {
	t.Parallel()
	for kind, groups := range map[string]int{"ungrouped": 0, "groups": 5} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			pinnedSnapshot(t, groups)
		})
	}
}

// pinnedSnapshot holds a queue behind an open snapshot against one that is not, in turn: what else the machine does slows both.
func pinnedSnapshot(t *testing.T, groups int) {
	pinned, free := newFlow(t, groups), newFlow(t, groups)
	pin, err := pgx.Connect(t.Context(), pinned.store)
	if err != nil {
		t.Fatal(err)
	}
	defer pin.Close(context.WithoutCancel(t.Context()))
	var n int
	if _, err := pin.Exec(t.Context(), "BEGIN ISOLATION LEVEL REPEATABLE READ"); err != nil {
		t.Fatal(err)
	}
	if err := pin.QueryRow(t.Context(), "SELECT count(*) FROM messages").Scan(&n); err != nil {
		t.Fatal(err)
	}
	rounds := size(60, 1500) // of 100 messages
	for range rounds {
		pinned.round(t)
		free.round(t)
	}
	for what, took := range map[string][2][]time.Duration{"receives": {pinned.receives, free.receives}, "counts": {pinned.counts, free.counts}} {
		last := func(l []time.Duration) time.Duration { return median(l[len(l)*3/4:]) }
		behind, beside := last(took[0]), last(took[1])
		if behind > max(size[time.Duration](10, 4)*beside, 50*time.Millisecond) { // a short run is noisy
			t.Errorf("%s slow down behind a pinned snapshot: median %v at last, and %v where there is none", what, behind, beside)
		}
		t.Logf("%s: median %v at last, and %v where no snapshot is open", what, behind, beside)
	}
}

// flow is a server with one queue that is filled and emptied.
type flow struct {
	*client
	store            string
	batch            []object
	receives, counts []time.Duration
}

func newFlow(t *testing.T, groups int) *flow {
	store := pgtest.Database(t)
	f := &flow{client: serve(t, store+"&pool_max_conns=8"), store: store}
	f.must(t, "POST", "/v1/queue/create", object{"name": "jobs"})
	for i := range 100 {
		m := object{"payload": i}
		if groups > 0 {
			m["message_group_id"] = fmt.Sprint("g", i%groups)
		}
		f.batch = append(f.batch, m)
	}
	return f
}

func (f *flow) round(t *testing.T) {
	f.must(t, "POST", "/v1/queue/publish_batch", object{"queue": "jobs", "messages": f.batch})
	for left := 100; left > 0; {
		began := time.Now()
		got := f.consume(t, "jobs", 50, 60, 0)
		f.receives = append(f.receives, time.Since(began))
		left -= len(got)
		f.ack(t, "jobs", got)
	}
	began := time.Now()
	f.stats(t, "jobs")
	f.counts = append(f.counts, time.Since(began))
}

func median(l []time.Duration) time.Duration {
	l = slices.Sorted(slices.Values(l))
	return l[len(l)/2]
}

// H-Q15: batched settles of every kind against batched receives and the server's own sweeps, from two servers over many of the same messages. No
// call fails, and the database saw no deadlock, not even one that was tried again.
func TestNoDeadlockInAStorm(t *testing.T) {
	t.Parallel()
	store := pgtest.Database(t)
	t.Cleanup(func() { noDeadlocks(t, store) }) // once the servers are closed: until then a connection keeps what it counted
	servers := []*client{serve(t, store+"&pool_max_conns=8"), serve(t, store+"&pool_max_conns=8")}
	servers[0].must(t, "POST", "/v1/queue/create", object{"name": "jobs", "max_receive_count": 2})
	ctx, stop := context.WithTimeout(t.Context(), size(3*time.Second, time.Minute))
	defer stop()
	ok := func(a answer) answer {
		if !a.ok() && ctx.Err() == nil {
			t.Errorf("a call in the storm: %v", a)
		}
		return a
	}
	var wg sync.WaitGroup
	for i := range 6 {
		c := servers[i%2]
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				var batch []object
				for j := range 40 {
					m := object{"payload": j, "delay_seconds": float64(j%3) / 50}
					if j%4 > 0 {
						m["message_group_id"] = fmt.Sprint("g", j%4)
					}
					batch = append(batch, m)
				}
				ok(c.post(ctx, "/v1/queue/publish_batch", object{"queue": "jobs", "messages": batch}))
				got := ok(c.post(ctx, "/v1/queue/consume", object{"queue": "jobs", "max_messages": 60, "visibility_timeout": 1})).items("items")
				for k, verb := range []string{"ack", "nack", "release", "extend"} {
					var items []object
					for j := len(got) - 1; j >= 0; j-- { // against the order of the locks
						if (j+n)%4 == k || (j+n)%7 == k {
							item := object{"message_id": got[j]["message_id"]}
							if verb == "extend" {
								item["visibility_timeout"] = 1
							}
							items = append(items, item)
						}
					}
					if len(items) > 0 {
						wg.Go(func() { ok(c.post(ctx, "/v1/queue/"+verb+"_batch", object{"queue": "jobs", "items": items})) })
					}
				}
			}
		})
	}
	wg.Wait()
}

func noDeadlocks(t *testing.T, store string) {
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, store)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var deadlocks, committed int
	eventually(t, 20*time.Second, "the servers' connections are gone", func() bool {
		var n int
		err := conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()").Scan(&n)
		return err == nil && n == 0
	})
	if err := conn.QueryRow(ctx, "SELECT deadlocks, xact_commit FROM pg_stat_database WHERE datname = current_database()").Scan(&deadlocks, &committed); err != nil {
		t.Fatal(err)
	}
	if deadlocks > 0 || committed == 0 {
		t.Errorf("%d deadlocks in %d commits", deadlocks, committed)
	}
}
