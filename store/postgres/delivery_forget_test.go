package postgres

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

func count(t testing.TB, db *DB, query string, args ...any) (n int) {
	t.Helper()
	if err := db.pool.QueryRow(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func exec(t testing.TB, db *DB, query string, args ...any) {
	t.Helper()
	if _, err := db.pool.Exec(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// sweepAll sweeps without the rests between looks until nothing is left to do.
func sweepAll(t testing.TB, db *DB, limit int) {
	t.Helper()
	for idle := 0; idle < 3; {
		db.sweeps.mu.Lock()
		db.sweeps.claims.rest, db.sweeps.events.rest, db.sweeps.messages.rest, db.sweeps.deleted = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		db.sweeps.mu.Unlock()
		n, err := db.Sweep(t.Context(), limit)
		if err != nil {
			t.Fatal(err)
		}
		if idle++; n > 0 {
			idle = 0
		}
	}
}

func sendTo(t testing.TB, db *DB, n int64) webhook.Sent {
	t.Helper()
	out, err := db.Send(t.Context(), news(n))
	if err != nil || out[0].Err != nil {
		t.Fatal(err, out)
	}
	return out[0]
}

func takeOne(t testing.TB, db *DB) *webhook.Job {
	t.Helper()
	k, err := db.TakeDeliveries(t.Context(), webhook.Take{Owner: "w", Max: 1, Slack: time.Minute})
	if err != nil || len(k.Jobs) != 1 {
		t.Fatal(err, k)
	}
	return &k.Jobs[0]
}

func settle(t testing.TB, db *DB, j *webhook.Job, kind ledger.Kind, r webhook.Result) {
	t.Helper()
	out, err := db.SettleDeliveries(t.Context(), webhook.Outcome{Job: j, Kind: kind, Result: r})
	if err != nil || !out[0].Applied {
		t.Fatal(err, out)
	}
}

// An event is forgotten with all that is its own 90 days after its last delivery ended, and not before: until then the
// same event again gets the first answer. What is stuck is kept for ever.
func TestForget(t *testing.T) {
	t.Parallel()
	db := openAt(t, pgtest.Database(t))
	ctx := t.Context()
	sendTo(t, db, 1) // nobody subscribes
	hook(t, db)
	b := hook(t, db, func(e *webhook.Endpoint) { e.EventTypes = []string{"other"} })

	old := sendTo(t, db, 2)
	settle(t, db, takeOne(t, db), ledger.Permanent, webhook.Refused)
	if _, err := db.Resend(ctx, webhook.Act{Project: 1, ID: old.Deliveries[0].ID, Who: "p"}, false); err != nil {
		t.Fatal(err)
	}
	settle(t, db, takeOne(t, db), ledger.Permanent, webhook.Refused) // a dead letter, and a former send

	half := news(3)
	half.Type = "other"
	half.Endpoints = []int64{b.ID, old.Deliveries[0].EndpointID}
	if out, err := db.Send(ctx, half); err != nil || len(out[0].Deliveries) != 2 {
		t.Fatal(err, out)
	}
	settle(t, db, takeOne(t, db), ledger.Succeeded, webhook.WasDelivered)
	young := takeOne(t, db)
	settle(t, db, young, ledger.Succeeded, webhook.WasDelivered)

	sendTo(t, db, 4)
	j := takeOne(t, db)
	settle(t, db, j, ledger.Ambiguous, webhook.Unknown)
	exec(t, db, "UPDATE delivery_claims SET next_at = now() WHERE id = $1", j.ClaimID)
	exec(t, db, "UPDATE groups SET next_at = now()")
	exec(t, db, "UPDATE messages SET vis = now() WHERE claim_id = $1", j.ClaimID)
	settle(t, db, takeOne(t, db), ledger.Permanent, webhook.Refused) // stuck

	exec(t, db, "UPDATE delivery_claims SET finished_at = finished_at - interval '91 days' WHERE id <> $1", young.ClaimID)
	exec(t, db, "UPDATE events SET created_at = created_at - interval '91 days'")
	sweepAll(t, db, 1)
	for _, c := range []struct {
		what string
		got  int
		want int
	}{
		{"the event that nobody wanted", count(t, db, "SELECT count(*) FROM events WHERE event_id = 'evt-1'"), 0},
		{"the event that ended", count(t, db, "SELECT count(*) FROM events WHERE event_id = 'evt-2'"), 0},
		{"the event that ended half", count(t, db, "SELECT count(*) FROM events WHERE event_id = 'evt-3'"), 1},
		{"its deliveries", count(t, db, "SELECT count(*) FROM deliveries d JOIN events e ON e.id = d.event WHERE event_id = 'evt-3'"), 2},
		{"what is stuck", count(t, db, "SELECT count(*) FROM delivery_claims WHERE state = 'stuck'"), 1},
		{"claims", count(t, db, "SELECT count(*) FROM delivery_claims"), 3},
		{"dead letters", count(t, db, "SELECT count(*) FROM messages"), 1},
		{"attempts of what is gone", count(t, db, "SELECT count(*) FROM attempts WHERE delivery NOT IN (SELECT id FROM deliveries)"), 0},
		{"notes of what is gone", count(t, db, "SELECT count(*) FROM claim_notes WHERE claim_id NOT IN (SELECT id FROM claims)"), 0},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.what, c.got, c.want)
		}
	}
	if s := sendTo(t, db, 2); s.Replay {
		t.Error("a forgotten event is replayed")
	}
}

// A delivery that is sent again in the moment in which its event is forgotten keeps that.
func TestResentWhileForgotten(t *testing.T) {
	t.Parallel()
	db := open(t)
	e := hook(t, db)
	sent := sendTo(t, db, 1)
	j := takeOne(t, db)
	settle(t, db, j, ledger.Permanent, webhook.Refused)
	exec(t, db, "UPDATE delivery_claims SET finished_at = finished_at - interval '91 days'")
	release := holding(t, db, "SELECT id FROM groups WHERE id = $1 FOR UPDATE", e.ID)
	ctx, resent, forgot := context.WithoutCancel(t.Context()), make(chan error, 1), make(chan error, 1)
	go func() { // has the claim, and waits for the group
		_, err := db.Resend(ctx, webhook.Act{Project: 1, ID: sent.Deliveries[0].ID, Who: "p"}, false)
		resent <- err
	}()
	blocked(t, db)
	go func() { // waits for the claim
		forgot <- db.in(ctx, func(ctx context.Context, tx *txn) error {
			_, err := forget(ctx, tx, []int64{j.ClaimID})
			return err
		})
	}()
	eventually(t, "two waits for locks", func() bool {
		return count(t, db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") > 1
	})
	release()
	for _, done := range []chan error{resent, forgot} {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if events, deliveries := count(t, db, "SELECT count(*) FROM events"), count(t, db, "SELECT count(*) FROM deliveries"); events != 1 || deliveries != 1 {
		t.Fatalf("events: %d, deliveries: %d, want the one that was sent again", events, deliveries)
	}
	if again := takeOne(t, db); again.DeliveryID != sent.Deliveries[0].ID {
		t.Errorf("took delivery %d, want %d", again.DeliveryID, sent.Deliveries[0].ID)
	}
}

// What waits for a deleted endpoint is cancelled, in steps where it is much; the one being sent is finished and recorded. In the end
// nothing of the endpoint is left.
func TestDeletedEndpoint(t *testing.T) {
	t.Parallel()
	db := openAt(t, pgtest.Database(t))
	e := hook(t, db)
	var events []webhook.NewEvent
	for n := range int64(cancelAtOnce + 200) {
		events = append(events, news(n))
	}
	if _, err := db.Send(t.Context(), events...); err != nil {
		t.Fatal(err)
	}
	j := takeOne(t, db)
	if err := db.DeleteEndpoint(t.Context(), 1, e.ID); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, "SELECT count(*) FROM messages"); n == 0 || n > 200 {
		t.Errorf("%d wait after the deletion", n)
	}
	sweepAll(t, db, 50)
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE cancelled_at IS NOT NULL"); n != len(events)-1 {
		t.Errorf("%d are cancelled, want %d", n, len(events)-1)
	}
	settle(t, db, j, ledger.Definite, webhook.Refused) // wants another try, which nobody will make
	sweepAll(t, db, 50)
	d, err := db.Delivery(t.Context(), 1, j.DeliveryID)
	if err != nil || d.State != webhook.Cancelled || len(d.Attempts) != 1 {
		t.Errorf("%v %+v", err, d)
	}
	for _, table := range []string{"delivery_claims SET finished_at = finished_at", "events SET created_at = created_at", "endpoints SET deleted_at = deleted_at"} {
		exec(t, db, fmt.Sprintf("UPDATE %s - interval '91 days'", table))
	}
	sweepAll(t, db, 300)
	for _, table := range []string{"messages", "deliveries", "claims", "claim_notes", "attempts", "events", "endpoints", "groups"} {
		if n := count(t, db, "SELECT count(*) FROM "+table); n != 0 {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
}

// A worker found dead has an attempt of its own, whoever finds it.
func TestDeadWorkersAttempt(t *testing.T) {
	t.Parallel()
	db := openAt(t, pgtest.Database(t))
	for _, c := range []struct {
		policy ledger.Policy
		begin  bool
		result webhook.Result
		state  webhook.State
	}{
		{ledger.Idempotent, true, webhook.Unknown, webhook.Sending},
		{ledger.Once, false, webhook.NotSent, webhook.Sending},
		{ledger.Once, true, webhook.Unknown, webhook.Stuck},
	} {
		e := hook(t, db, func(e *webhook.Endpoint) { e.Policy, e.MaxInFlight = c.policy, 1 })
		n := news(time.Now().UnixNano())
		n.Endpoints = []int64{e.ID}
		if _, err := db.Send(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		j := takeOne(t, db)
		if c.begin {
			if b, err := db.BeginDeliveries(t.Context(), []*webhook.Job{j}); err != nil || !b[0].Applied {
				t.Fatal(err, b)
			}
		}
		exec(t, db, "UPDATE messages SET vis = now() WHERE id = $1", j.MessageID)
		exec(t, db, "UPDATE delivery_claims SET lease_until = now() WHERE id = $1", j.ClaimID)
		sweepAll(t, db, 10)
		if _, err := db.TakeDeliveries(t.Context(), webhook.Take{Owner: "v", Max: 1, Slack: time.Minute}); err != nil {
			t.Fatal(err)
		}
		d, err := db.Delivery(t.Context(), 1, j.DeliveryID)
		if err != nil || len(d.Attempts) != 1 || d.State != c.state || d.Attempts[0].Result != c.result || d.Attempts[0].Cause != webhook.ByEvent {
			t.Errorf("%s, begun %v: %v %+v", c.policy, c.begin, err, d)
		}
		if out, err := db.SettleDeliveries(t.Context(), webhook.Outcome{Job: j, Kind: ledger.Succeeded, Result: webhook.WasDelivered}); err != nil || out[0].Applied != (c.state == webhook.Stuck) {
			t.Errorf("the dead worker's late word: %v %+v", err, out)
		}
	}
}
