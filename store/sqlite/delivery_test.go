package sqlite

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// rig is a store with what the tests of deliveries do again and again.
type rig struct {
	testing.TB
	*DB
}

func newRig(t testing.TB) rig {
	t.Helper()
	db, err := Open(t.Context(), tempFile(t), Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return rig{t, db}
}

func (r rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r rig) count(query string, args ...any) (n int64) {
	r.Helper()
	r.ok(r.read(r.Context(), "count", func(t *tx) error { return t.row(query, args...).Scan(&n) }))
	return n
}

func (r rig) change(query string, args ...any) {
	r.Helper()
	r.ok(r.write(r.Context(), "change", 0, func(t *tx) error {
		_, err := t.exec(query, args...)
		return err
	}))
}

func (r rig) want(what string, got, want int64) {
	r.Helper()
	if got != want {
		r.Errorf("%s: %d, want %d", what, got, want)
	}
}

func (r rig) endpoint(with ...func(*webhook.Endpoint)) webhook.Endpoint {
	r.Helper()
	e := webhook.Endpoint{
		Project: 1, URL: "https://example.com", EventTypes: []string{"*"}, Secrets: []webhook.Secret{{Sealed: []byte("s")}},
		Timeout: time.Minute, Ladder: []time.Duration{time.Second}, Policy: ledger.Idempotent, MaxInFlight: 1000,
	}
	for _, w := range with {
		w(&e)
	}
	e, err := r.CreateEndpoint(r.Context(), e)
	r.ok(err)
	return e
}

func (r rig) send(ids ...string) []webhook.Sent {
	r.Helper()
	var events []webhook.NewEvent
	for _, id := range ids {
		h := sha256.Sum256([]byte(id))
		events = append(events, webhook.NewEvent{Project: 1, EventID: id, Type: "a", Payload: []byte("{}"), Hash: h[:]})
	}
	out, err := r.Send(r.Context(), events...)
	r.ok(err)
	for _, s := range out {
		r.ok(s.Err)
	}
	return out
}

func (r rig) names(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("evt%d", i))
	}
	return out
}

func (r rig) take(n int) []webhook.Job {
	r.Helper()
	t, err := r.TakeDeliveries(r.Context(), webhook.Take{Owner: "w", Max: n, Slack: time.Second})
	r.ok(err)
	return t.Jobs
}

func (r rig) settle(kind ledger.Kind, jobs ...webhook.Job) {
	r.Helper()
	var o []webhook.Outcome
	for i := range jobs {
		o = append(o, webhook.Outcome{Job: &jobs[i], Kind: kind, Result: webhook.Refused})
	}
	out, err := r.SettleDeliveries(r.Context(), o...)
	r.ok(err)
	for _, a := range out {
		if !a.Applied {
			r.Fatalf("an outcome did not apply: %+v", a)
		}
	}
}

func (r rig) sweepAll(limit int) {
	r.Helper()
	for n := 1; n > 0; {
		var err error
		n, err = r.Sweep(r.Context(), limit)
		r.ok(err)
	}
}

var everything = []string{"events", "deliveries", "claims", "claim_notes", "attempts", "messages"}

// What ended is forgotten with all it made, once the youngest of it is old enough; and the event's id is free again.
func TestEventsAreForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.endpoint()
	r.endpoint(func(e *webhook.Endpoint) { e.Ladder = nil })
	sent := r.send("evt1")[0]
	r.settle(ledger.Permanent, r.take(10)...)
	act := webhook.Act{Project: 1, ID: sent.Deliveries[0].ID, Who: "anna"}
	_, err := r.Resend(r.Context(), act, true)
	r.ok(err)
	r.settle(ledger.Succeeded, r.take(10)...)
	r.send("evt2") // young
	r.want("claims", r.count("SELECT count(*) FROM claims"), 5)

	age := (ledger.Memory + time.Hour).Microseconds()
	r.change("UPDATE claims SET finished_at = finished_at - ? WHERE id = (SELECT claim_id FROM deliveries WHERE id = ?)", age, act.ID)
	r.sweepAll(1)
	r.want("deliveries, one of them young", r.count("SELECT count(*) FROM deliveries"), 4)
	r.change("UPDATE claims SET finished_at = finished_at - ? WHERE state = 'failed'", age)
	r.sweepAll(1)
	for _, table := range everything {
		left := map[string]int64{"events": 1, "deliveries": 2, "claims": 2, "messages": 2}[table]
		r.want(table, r.count("SELECT count(*) FROM "+table), left)
	}
	if s := r.send("evt1")[0]; s.Replay || len(s.Deliveries) != 2 {
		t.Errorf("a forgotten event id is not free: %+v", s)
	}
}

func TestEventsNobodyGotAreForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send(r.names(7)...)
	r.change("UPDATE events SET created_at = created_at - ? WHERE id <= (SELECT min(id) + 4 FROM events)", (ledger.Memory + time.Hour).Microseconds())
	r.sweepAll(2)
	r.want("events", r.count("SELECT count(*) FROM events"), 2)
}

// A deleted endpoint's deliveries are cancelled in bounded steps, the one being sent is finished, then its rows go.
func TestEndpointIsDeletedInSteps(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	e := r.endpoint(func(e *webhook.Endpoint) { e.MaxInFlight = 1 })
	total := int64(deletedStep + 300)
	r.send(r.names(int(total))...)
	job := r.take(1)
	r.ok(r.DeleteEndpoint(t.Context(), 1, e.ID))
	r.want("cancelled at once", r.count("SELECT count(*) FROM deliveries WHERE cancelled_at IS NOT NULL"), deletedStep)
	r.sweepAll(50)
	r.want("cancelled", r.count("SELECT count(*) FROM deliveries WHERE cancelled_at IS NOT NULL"), total-1)
	r.want("endpoint's row while one is sent", r.count("SELECT count(*) FROM endpoints"), 1)
	r.settle(ledger.Definite, job...)
	r.sweepAll(50)
	r.want("cancelled", r.count("SELECT count(*) FROM deliveries WHERE cancelled_at IS NOT NULL"), total)
	r.want("attempts", r.count("SELECT count(*) FROM attempts"), 1)
	for _, table := range []string{"endpoints", "groups", "messages"} {
		r.want(table, r.count("SELECT count(*) FROM "+table), 0)
	}
	r.want("open claims", r.count("SELECT count(*) FROM claims WHERE state <> 'failed'"), 0)
	if _, err := r.Endpoint(t.Context(), 1, e.ID); !errors.Is(err, webhook.ErrNotFound) {
		t.Errorf("a deleted endpoint: %v", err)
	}
}

// A delivery whose worker died, cancelled before anybody took it up, keeps what is known of that attempt.
func TestCancelAfterADeath(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.endpoint()
	id := r.send("evt1")[0].Deliveries[0].ID
	r.take(1)
	r.change("UPDATE claims SET lease_until = lease_until - 120000000")
	r.change("UPDATE messages SET vis = vis - 120000000")
	v, err := r.Cancel(t.Context(), webhook.Act{Project: 1, ID: id})
	r.ok(err)
	if v.State != webhook.Cancelled || len(v.Attempts) != 1 || v.Attempts[0].Result != webhook.Unknown {
		t.Errorf("cancelled: %+v", v)
	}
	r.want("in flight", r.count("SELECT sum(in_flight) FROM groups"), 0)
	r.want("messages", r.count("SELECT count(*) FROM messages"), 0)
}

// A list with a filter that little matches goes on from page to page and ends.
func TestListGoesOnPastWhatItSkips(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.endpoint()
	first := r.send("evt-first")[0]
	r.send(r.names(scanRows/2 + 700)...)
	r.send(r.names(scanRows + 700)[scanRows/2+700:]...)
	r.settle(ledger.Succeeded, r.take(1)...)
	pages, f := 0, webhook.Filter{Project: 1, State: webhook.Delivered, Page: queue.Page{Limit: 10}}
	for {
		l, next, err := r.Deliveries(t.Context(), f)
		r.ok(err)
		pages++
		if len(l) > 0 {
			if l[0].ID != first.Deliveries[0].ID || next != 0 {
				t.Errorf("%d of page %d, next %d", l[0].ID, pages, next)
			}
			break
		}
		if f.After = next; next == 0 {
			t.Fatal("the list ended before its only item")
		}
	}
	r.want("pages", int64(pages), 2)
}

// Waiting ends when a retry is due, though nobody says so.
func TestWaitDeliveriesForARetry(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.endpoint()
	r.send("evt1")
	job := r.take(1)
	_, err := r.SettleDeliveries(t.Context(), webhook.Outcome{Job: &job[0], Kind: ledger.Definite, Result: webhook.Refused, RetryIn: 200 * time.Millisecond})
	r.ok(err)
	for begun := time.Now(); len(r.take(1)) == 0; r.WaitDeliveries(t.Context(), webhook.Take{}) {
		if time.Since(begun) > 10*time.Second {
			t.Fatal("nobody woke for a retry that is due")
		}
	}
}

// A row that cannot be read costs its endpoint alone.
func TestPoisonCostsItsEndpointAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.endpoint(), r.endpoint()
	r.send(r.names(3)...)
	r.change("UPDATE deliveries SET ladder = '[' WHERE endpoint = ? AND event = 2", a.ID)
	jobs := r.take(10)
	r.want("taken", int64(len(jobs)), 3)
	for _, j := range jobs {
		r.want("endpoint", j.Endpoint.ID, b.ID)
	}
	r.want("in flight", r.count("SELECT in_flight FROM groups WHERE id = ?", a.ID), 0)
	r.want("claims of a held", r.count("SELECT count(*) FROM claims WHERE state <> 'new'"), 3)
	r.change("UPDATE deliveries SET ladder = '[]'")
	r.change("UPDATE groups SET next_at = 0")
	r.want("taken once it is mended", int64(len(r.take(10))), 3)
}

// I11: that an attempt cannot be recorded causes no second POST and drops none.
func TestAttemptsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.endpoint()
	r.send("evt1", "evt2")
	r.change("CREATE TRIGGER broken BEFORE INSERT ON attempts BEGIN SELECT RAISE(ABORT, 'broken'); END")
	jobs := r.take(10)
	r.settle(ledger.Succeeded, jobs[0])
	r.want("done", r.count("SELECT count(*) FROM claims WHERE state = 'done'"), 1)
	r.change("UPDATE claims SET lease_until = lease_until - 120000000 WHERE state = 'started'")
	r.change("UPDATE messages SET vis = vis - 120000000")
	again := r.take(10)
	r.want("taken over", int64(len(again)), 1)
	r.settle(ledger.Succeeded, again...)
	r.want("messages", r.count("SELECT count(*) FROM messages"), 0)
	r.want("attempts", r.count("SELECT count(*) FROM attempts"), 0)
}

// Endpoints that have their turn with nothing due keep no other from its own.
func TestTakePastStaleTurns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 60 {
		r.endpoint(func(e *webhook.Endpoint) { e.EventTypes = []string{"none"} })
	}
	r.endpoint()
	r.send("evt1")
	r.change("UPDATE groups SET next_at = 1 WHERE id < (SELECT max(id) FROM groups)")
	r.want("taken", int64(len(r.take(1))), 1)
	r.want("stale turns left", r.count("SELECT count(*) FROM groups WHERE next_at = 1"), 0)
}

// A take ends at its bytes: what it leaves is taken by the next, each once, in turn.
func TestTakeWithinItsBytes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.endpoint(), r.endpoint()
	const each, fit = 20, takeBytes / webhook.MaxPayload
	for i := range each {
		h := sha256.Sum256([]byte{byte(i)})
		_, err := r.Send(t.Context(), webhook.NewEvent{Project: 1, EventID: fmt.Sprint("evt", i), Type: "a", Payload: make([]byte, webhook.MaxPayload), Hash: h[:]})
		r.ok(err)
	}
	seen := map[int64]int{}
	for _, want := range []int64{fit, fit, 2*each - 2*fit, 0} {
		jobs := r.take(500)
		r.want("taken", int64(len(jobs)), want)
		for _, j := range jobs {
			seen[j.DeliveryID]++
		}
		r.want("in flight", r.count("SELECT sum(in_flight) FROM groups"), r.count("SELECT count(*) FROM messages WHERE leased = 1"))
	}
	r.want("of one endpoint", r.count("SELECT in_flight FROM groups WHERE id = ?", a.ID), each)
	r.want("of the other", r.count("SELECT in_flight FROM groups WHERE id = ?", b.ID), each)
	for d, n := range seen {
		r.want(fmt.Sprint("takes of delivery ", d), int64(n), 1)
	}
}

// A worker that died is seen though its endpoint, disabled meanwhile, has no turn.
func TestDeathAtADisabledEndpoint(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	e := r.endpoint(func(e *webhook.Endpoint) { e.Policy = ledger.Once })
	sent := r.send("evt1", "evt2")
	jobs := r.take(2)
	_, err := r.BeginDeliveries(t.Context(), []*webhook.Job{&jobs[0]})
	r.ok(err)
	_, err = r.UpdateEndpoint(t.Context(), 1, e.ID, func(_ time.Time, e *webhook.Endpoint) error { e.Disabled = true; return nil })
	r.ok(err)
	r.change("UPDATE claims SET lease_until = lease_until - 120000000")
	r.change("UPDATE messages SET vis = vis - 120000000")
	r.sweepAll(10)
	for i, want := range []struct {
		state  webhook.State
		result webhook.Result
	}{{webhook.Stuck, webhook.Unknown}, {webhook.Retrying, webhook.NotSent}} {
		v, err := r.Delivery(t.Context(), 1, sent[i].Deliveries[0].ID)
		r.ok(err)
		if v.State != want.state || len(v.Attempts) != 1 || v.Attempts[0].Result != want.result {
			t.Errorf("delivery %d: %+v, want %+v", i, v, want)
		}
	}
	r.want("in flight", r.count("SELECT sum(in_flight) FROM groups"), 0)
	r.want("dead", r.count("SELECT count(*) FROM messages WHERE dead_at IS NOT NULL"), 1)
}
