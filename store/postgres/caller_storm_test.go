package postgres

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// Callers' transactions that commit, roll back or die, beside servers that publish to the same groups, receive, and sweep groups away: what was committed is
// received, each once, what was not never is, and no group sleeps past its work.
func TestCallersStorm(t *testing.T) {
	t.Parallel()
	at := pgtest.Database(t)
	servers := []*DB{openAt(t, at), openAt(t, at)}
	db := servers[0]
	make1(t, db, "jobs")
	hook(t, db, func(e *webhook.Endpoint) { e.Timeout, e.MaxInFlight = time.Minute, 1000 })
	pool := caller(t, at, 8)
	var mu sync.Mutex
	committed, rolledBack, got, sent := map[int64]bool{}, map[int64]bool{}, map[int64]int{}, map[string]int{}
	group := func() string { return pick("", "a", "b", "c"+strconv.Itoa(rand.IntN(40))) }
	var callers, others sync.WaitGroup
	for n := range 4 {
		callers.Go(func() {
			for i := range 25 {
				tx, err := pool.Begin(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				var ids []int64
				for range 1 + rand.IntN(4) {
					ids = append(ids, publishTx(t, tx, queue.Publish{Queue: "jobs", Group: group()}).ID)
				}
				event := "evt-" + strconv.Itoa(n) + "-" + strconv.Itoa(i)
				sendTx(t, tx, event)
				end := rand.IntN(10)
				switch {
				case end == 0:
					exec(t, db, "SELECT pg_terminate_backend($1)", tx.Conn().PgConn().PID())
					tx.Rollback(context.Background())
				case end < 3:
					err = tx.Rollback(t.Context())
				default:
					err = tx.Commit(t.Context())
				}
				if err != nil {
					t.Errorf("end %d: %v", end, err)
				}
				mu.Lock()
				for _, id := range ids {
					if end < 3 {
						rolledBack[id] = true
					} else {
						committed[id] = true
					}
				}
				if end >= 3 {
					sent[event] += 0 // it may have been taken already
				}
				mu.Unlock()
			}
		})
	}
	callers.Go(func() {
		for range 100 {
			id := publish(t, servers[1], queue.Publish{Queue: "jobs", Group: group()})[0].ID
			mu.Lock()
			committed[id] = true
			mu.Unlock()
		}
	})
	ctx, stop := context.WithCancel(t.Context())
	work := func(s *DB) int {
		messages := receive(t, s, "jobs", 5)
		ack(t, s, messages)
		k, err := s.TakeDeliveries(t.Context(), webhook.Take{Owner: "w", Max: 5, Slack: time.Minute})
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		for _, m := range messages {
			got[m.ID]++
		}
		for i := range k.Jobs {
			sent[k.Jobs[i].EventID]++
		}
		mu.Unlock()
		for i := range k.Jobs {
			settle(t, s, &k.Jobs[i], "done", webhook.WasDelivered)
		}
		return len(messages) + len(k.Jobs)
	}
	for n := range 3 {
		others.Go(func() {
			for ctx.Err() == nil {
				work(servers[n%2])
			}
		})
	}
	others.Go(func() {
		for ctx.Err() == nil {
			servers[1].sweeps.mu.Lock()
			servers[1].sweeps.groups.rest = time.Time{}
			servers[1].sweeps.mu.Unlock()
			if _, err := servers[1].Sweep(t.Context(), 100); err != nil {
				t.Error(err)
			}
		}
	})
	callers.Wait()
	stop()
	others.Wait()
	eventually(t, "an end of the work", func() bool {
		work(db)
		return count(t, db, "SELECT (SELECT count(*) FROM messages) + (SELECT count(*) FROM wakes)") == 0
	})
	for id := range committed {
		if got[id] != 1 {
			t.Errorf("message %d was committed, and received %d times", id, got[id])
		}
	}
	for id := range got {
		if rolledBack[id] {
			t.Errorf("message %d was rolled back, and received", id)
		}
	}
	for event, n := range sent {
		if n != 1 {
			t.Errorf("event %s was taken %d times", event, n)
		}
	}
	noGroupWrong(t, db)
}
