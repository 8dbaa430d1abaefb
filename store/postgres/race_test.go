package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// holding runs sql in a transaction that is open until the function that it gives is called, which commits it.
func holding(t *testing.T, db *DB, sql string, args ...any) (commit func()) {
	t.Helper()
	tx, err := db.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SET LOCAL idle_in_transaction_session_timeout = 0"); err != nil { // whatever the test does meanwhile may take long
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback(context.Background()) })
	return func() {
		t.Helper()
		if err := tx.Commit(t.Context()); err != nil && err != pgx.ErrTxClosed {
			t.Fatal(err)
		}
	}
}

// blocked returns once something waits for a lock.
func blocked(t *testing.T, db *DB) {
	t.Helper()
	eventually(t, "a wait for a lock", func() bool {
		return count(t, db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") > 0
	})
}

// A dead letter must not go to a queue that is deleted in this moment: it would be nowhere.
func TestDeadLetterToDeletedQueue(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	make1(t, db, "jobs")
	id := publish(t, db, queue.Publish{Queue: "jobs"})[0].ID
	m := receive(t, db, "jobs", 1)[0]
	release := holding(t, db, "SELECT 1 FROM messages WHERE id = $1 FOR UPDATE", id)
	done := make(chan error, 1)
	go func() {
		out, err := db.Settle(ctx, queue.Settle{Verb: queue.Nack, Project: 1, Queue: "jobs", ID: id, Lease: m.Lease, DeadLetter: true})
		if err == nil {
			err = out[0].Err
		}
		done <- err
	}()
	blocked(t, db)
	if _, err := db.UpdateQueue(ctx, queue.Spec{Project: 1, Name: "jobs", DLQ: new("other")}); err != nil {
		t.Fatal(err)
	}
	if err := db.DeleteQueue(ctx, 1, "jobs-dlq", false); err != nil {
		t.Fatal(err)
	}
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, "SELECT count(*) FROM messages m JOIN queues q ON q.id = m.queue WHERE m.id = $1 AND q.name = 'other'", id); n != 1 {
		t.Errorf("the dead letter is not in the queue that its queue names now")
	}
}

// A word that disables an endpoint, and a person who enables it at that moment: endpoint and group are of one mind.
func TestDisableAgainstEnable(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	e, err := db.CreateEndpoint(ctx, webhook.Endpoint{
		Project: 1, URL: "https://example.com/hook", EventTypes: []string{"*"}, Secrets: []webhook.Secret{{Sealed: []byte("x")}},
		Timeout: time.Minute, Ladder: []time.Duration{time.Second}, Policy: ledger.Idempotent, MaxInFlight: 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Send(ctx, webhook.NewEvent{Project: 1, EventID: "evt", Type: "a", Payload: []byte("1"), Hash: make([]byte, 32)}); err != nil {
		t.Fatal(err)
	}
	k, err := db.TakeDeliveries(ctx, webhook.Take{Owner: "w", Max: 1, Slack: time.Minute})
	if err != nil || len(k.Jobs) != 1 {
		t.Fatalf("%d jobs, %v", len(k.Jobs), err)
	}
	exec(t, db, "UPDATE endpoints SET disabled = true")
	exec(t, db, "UPDATE groups SET disabled = true")
	commit := holding(t, db, "WITH e AS (UPDATE endpoints SET disabled = false WHERE id = $1) UPDATE groups SET disabled = false WHERE id = $1", e.ID)
	done := make(chan error, 1)
	go func() {
		_, err := db.SettleDeliveries(ctx, webhook.Outcome{Job: &k.Jobs[0], Kind: ledger.Permanent, Result: webhook.Refused, Status: 410, Disable: "410"})
		done <- err
	}()
	blocked(t, db)
	commit()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, "SELECT count(*) FROM endpoints e JOIN groups g USING (id) WHERE e.disabled <> g.disabled"); n > 0 {
		t.Error("the endpoint says one thing and its group another")
	}
}

// A queue that is given a dead-letter queue which is deleted in this moment makes it anew, as one that is created does.
func TestUpdateToDeletedQueue(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	make1(t, db, "jobs")
	make1(t, db, "others")
	if err := db.DeleteQueue(ctx, 1, "others", false); err != nil {
		t.Fatal(err)
	}
	commit := holding(t, db, "DELETE FROM queues WHERE name = 'others-dlq'")
	done := make(chan error, 1)
	go func() {
		_, err := db.UpdateQueue(ctx, queue.Spec{Project: 1, Name: "jobs", DLQ: new("others-dlq")})
		done <- err
	}()
	blocked(t, db)
	commit()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if q, err := db.Queue(ctx, 1, "jobs"); err != nil || q.DLQ != "others-dlq" {
		t.Errorf("%+v, %v", q, err)
	}
}
