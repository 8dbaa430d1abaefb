package postgres

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/onceward/onceward/account"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/queue"
)

// A credit limit is that of all servers together, while the deltas are folded beside them: not a message more, and not one less.
func TestLimitOverServers(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	servers := []*DB{openAt(t, url), openAt(t, url), openAt(t, url)}
	make1(t, servers[0], "jobs")
	const price, step, last = account.USD(7), 80, 8 * 80
	var stored atomic.Int64
	reach := func(room int64) {
		if _, err := servers[0].LimitCredit(t.Context(), 1, new(account.USD(room)*price+price-1)); err != nil {
			t.Error(err)
			return
		}
		var publishers sync.WaitGroup
		for i := range 4 * len(servers) {
			db := servers[i%len(servers)]
			publishers.Go(func() {
				for stored.Load() < room {
					items := make([]queue.Publish, 3)
					for i := range items {
						items[i] = queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`1`), Price: price}
					}
					out, err := db.Publish(t.Context(), items...)
					if err != nil {
						t.Error(err)
						return
					}
					for _, o := range out {
						switch {
						case o.Err == nil:
							stored.Add(1)
						case !errors.Is(o.Err, account.ErrInsufficient):
							t.Error(o.Err)
							return
						}
					}
				}
			})
		}
		publishers.Wait()
		if n := stored.Load(); n != room {
			t.Errorf("%d messages were stored at a limit of %d", n, room)
		}
	}
	end := make(chan struct{})
	var folder sync.WaitGroup
	folder.Go(func() {
		for {
			select {
			case <-end:
				return
			default:
				if _, err := servers[1].pool.Exec(t.Context(), usageFoldSQL, 3, 0); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for room := int64(step); room <= last && !t.Failed(); room += step { // the limit is met so often
		reach(room)
	}
	close(end)
	folder.Wait()
	for _, db := range servers {
		if b, err := db.Balance(t.Context(), 1); err != nil || b.Spent != last*price {
			t.Errorf("spent %v, %v", b.Spent, err)
		}
	}
}

// A key in a caller's open transaction: whoever publishes under it has to wait, but not with the project's limit in hand, which every other publish of the project wants.
func TestLimitIsNotHeldWhileAKeyIsWaitedFor(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	db := openAt(t, url)
	make1(t, db, "jobs")
	if _, err := db.LimitCredit(t.Context(), 1, new(account.USD(1_000_000))); err != nil {
		t.Fatal(err)
	}
	publishTx(t, begun(t, caller(t, url, 1)), queue.Publish{Queue: "jobs", Key: "theirs"})
	waiting := make(chan error, 1)
	go func() {
		out, err := db.Publish(t.Context(), queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`{}`), Key: "theirs", Hash: make([]byte, 32), Price: 7})
		waiting <- errors.Join(err, errOf(out))
	}()
	blocked(t, db)
	if n := count(t, db, "SELECT count(*) FROM (SELECT id FROM projects FOR NO KEY UPDATE SKIP LOCKED) p"); n != 1 {
		t.Error("the project is locked while the publish waits for the key")
	}
	if err := <-waiting; fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("under the held key: %v, want %s", err, fault.Unavailable)
	}
	if b, err := db.Balance(t.Context(), 1); err != nil || b.Spent != 0 {
		t.Errorf("spent %v, %v", b.Spent, err)
	}
}
