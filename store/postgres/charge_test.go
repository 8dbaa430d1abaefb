package postgres

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/onceward/onceward/account"
	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/queue"
)

// A credit limit is that of all servers together, while the deltas are folded beside them: not a message more, and not one less.
func TestLimitOverServers(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	servers := []*DB{openAt(t, url), openAt(t, url), openAt(t, url)}
	make1(t, servers[0], "jobs")
	const price, room = account.USD(7), 400
	if _, err := servers[0].LimitCredit(t.Context(), 1, new(room*price+price-1)); err != nil {
		t.Fatal(err)
	}
	var stored atomic.Int64
	var publishers sync.WaitGroup
	for _, db := range servers {
		for range 4 {
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
	}
	end := make(chan struct{})
	var folder sync.WaitGroup
	folder.Go(func() {
		for {
			select {
			case <-end:
				return
			default:
				if _, err := servers[1].pool.Exec(t.Context(), usageFoldSQL, 3); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	publishers.Wait()
	close(end)
	folder.Wait()
	if n := stored.Load(); n != room {
		t.Errorf("%d messages were stored at a limit of %d", n, room)
	}
	for _, db := range servers {
		if b, err := db.Balance(t.Context(), 1); err != nil || b.Spent != room*price {
			t.Errorf("spent %v, %v", b.Spent, err)
		}
	}
}
