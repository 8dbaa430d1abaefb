package postgres

import (
	"testing"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

// Takes that begin at the mark of the turns, as they do while a full look is slow, come back to an endpoint that was passed by for a while, though
// another always has more: to one that was full and whose lease ran out, and to one that had in flight what a take leaves it.
func TestTakeComesBackToAnEndpoint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		slots, each int
		free        func(t *testing.T, db *DB, jobs []*webhook.Job)
	}{
		"that was full, by an outcome": {1, 0, deliverAll},
		"that was full, by its lease's end": {1, 0, func(t *testing.T, db *DB, jobs []*webhook.Job) {
			exec(t, db, "UPDATE messages SET vis = now() - interval '1 ms' WHERE id = $1", jobs[0].MessageID)
			if err := db.lapse(t.Context(), 10); err != nil {
				t.Fatal(err)
			}
		}},
		"that had what a take leaves it": {10, 2, deliverAll},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			slow := hook(t, db, func(e *webhook.Endpoint) { e.MaxInFlight = c.slots })
			busy := hook(t, db, func(e *webhook.Endpoint) { e.MaxInFlight = 1000 })
			var events []webhook.NewEvent
			for n := range int64(400) {
				events = append(events, news(n))
				events[n].Endpoints = []int64{busy.ID}
				if n < 20 {
					events[n].Endpoints = append(events[n].Endpoints, slow.ID)
				}
			}
			if _, err := db.Send(t.Context(), events...); err != nil {
				t.Fatal(err)
			}
			take := func() (of []*webhook.Job) {
				k, err := db.TakeDeliveries(t.Context(), webhook.Take{Owner: "w", Max: 4, Each: c.each, Slack: time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				var rest []*webhook.Job
				for i := range k.Jobs {
					if k.Jobs[i].Endpoint.ID == slow.ID {
						of = append(of, &k.Jobs[i])
					} else {
						rest = append(rest, &k.Jobs[i])
					}
				}
				if len(rest) == 0 {
					t.Fatal("nothing of the busy one")
				}
				deliverAll(t, db, rest)
				return of
			}
			held := take()
			db.turns.marks = map[int64]*turnMark{deliveriesQueue: {looks: looks{took: time.Hour, last: time.Hour, looked: time.Now()}}}
			for start := time.Now(); time.Since(start) < 2*lowTrail; time.Sleep(50 * time.Millisecond) {
				held = append(held, take()...)
			}
			c.free(t, db, held)
			for range 4 {
				if len(take()) > 0 {
					return
				}
			}
			t.Error("passed by four times")
		})
	}
}

// However many endpoints another server is at, a take finds those that are behind them.
func TestTakeBehindLockedEndpoints(t *testing.T) {
	t.Parallel()
	db := open(t)
	for range 80 {
		hook(t, db)
	}
	if _, err := db.Send(t.Context(), news(1)); err != nil {
		t.Fatal(err)
	}
	tx, err := db.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), "SELECT id FROM groups ORDER BY next_at, id LIMIT 70 FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	k, err := db.TakeDeliveries(t.Context(), webhook.Take{Owner: "w", Max: 5, Slack: time.Minute})
	if err != nil || len(k.Jobs) != 5 {
		t.Errorf("took %d of 10 whose endpoints are free, %v; want 5", len(k.Jobs), err)
	}
}

func deliverAll(t *testing.T, db *DB, jobs []*webhook.Job) {
	t.Helper()
	for _, j := range jobs {
		settle(t, db, j, ledger.Succeeded, webhook.WasDelivered)
	}
}
