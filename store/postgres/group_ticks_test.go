package postgres

import (
	"testing"
	"time"

	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// later waits until a group that is changed now gets another tick than before.
func later(t *testing.T, db *DB) {
	t.Helper()
	was := query[int64](t, db, "SELECT group_tick()")
	eventually(t, "another tick", func() bool { return query[int64](t, db, "SELECT group_tick()") >= was+3 })
}

func takeSoon(t *testing.T, db *DB) *webhook.Job {
	t.Helper()
	var k webhook.Taken
	eventually(t, "a delivery", func() (got bool) {
		var err error
		k, err = db.TakeDeliveries(t.Context(), webhook.Take{Owner: "w", Max: 1, Slack: time.Minute})
		return err == nil && len(k.Jobs) == 1
	})
	return &k.Jobs[0]
}

func deliver(t *testing.T, db *DB, j *webhook.Job) {
	t.Helper()
	eventually(t, "an outcome", func() bool {
		_, err := db.SettleDeliveries(t.Context(), webhook.Outcome{Job: j, Kind: ledger.Succeeded, Result: webhook.WasDelivered, Status: 200})
		return err == nil
	})
}

func noGroupWrong(t *testing.T, db *DB) {
	t.Helper()
	wrong, err := groupsWrong(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

// H-Q25: a standby that took over without the last commits, or a backup that was put in place under a server that runs, has groups that were
// changed less lately than the server remembers: it finds them all the same.
func TestGroupsOfADatabaseThatIsBehind(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	db, other := openAt(t, url), openAt(t, url)
	hook(t, db, func(e *webhook.Endpoint) { e.MaxInFlight = 1 })
	make1(t, db, "jobs")
	publish(t, db, queue.Publish{Queue: "jobs", Group: "g"})
	if _, err := db.Send(t.Context(), news(1), news(2)); err != nil {
		t.Fatal(err)
	}
	first := takeSoon(t, db)

	exec(t, other, "UPDATE groups SET tick = tick - 600") // as a minute ago
	exec(t, other, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")

	deliver(t, db, first)
	noGroupWrong(t, other)
	deliver(t, db, takeSoon(t, db))
	eventually(t, "a publish to the group", func() bool {
		out, err := db.Publish(t.Context(), queue.Publish{Project: 1, Queue: "jobs", Group: "g", Body: []byte("1")})
		return err == nil && out[0].Err == nil
	})
}

// An event that finds its endpoint deleted changes nothing of the endpoint's group, and so knows of no change.
func TestSendToAnEndpointDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	db := open(t)
	e := hook(t, db)
	if _, err := db.Send(t.Context(), news(1)); err != nil {
		t.Fatal(err)
	}
	j := takeSoon(t, db)
	later(t, db)
	tx, err := db.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	for sql, args := range map[string][]any{deleteEndpointSQL: {1, e.ID}, deleteEndpointGroupSQL: {e.ID}} {
		if _, err := tx.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	sent := make(chan error, 1)
	go func() {
		out, err := db.Send(t.Context(), news(2))
		if err == nil && len(out[0].Deliveries) > 0 {
			t.Errorf("sent %v", out)
		}
		sent <- err
	}()
	blocked(t, db)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	deliver(t, db, j)
	noGroupWrong(t, db)
}
