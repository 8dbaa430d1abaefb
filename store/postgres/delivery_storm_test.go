package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

func hook(t testing.TB, db *DB, with ...func(*webhook.Endpoint)) webhook.Endpoint {
	t.Helper()
	e := webhook.Endpoint{
		Project: 1, URL: "https://example.com", EventTypes: []string{"*"}, Secrets: []webhook.Secret{{Sealed: []byte("s")}},
		Timeout: 20 * time.Millisecond, Ladder: []time.Duration{time.Second, time.Second, time.Second}, Policy: ledger.Idempotent, MaxInFlight: 4,
	}
	for _, w := range with {
		w(&e)
	}
	e, err := db.CreateEndpoint(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func news(n int64) webhook.NewEvent {
	id := fmt.Sprintf("evt-%d", n)
	h := sha256.Sum256([]byte(id))
	return webhook.NewEvent{Project: 1, EventID: id, Type: "a.b", Payload: []byte(`{"n":1}`), Hash: h[:]}
}

// deliveryStorm is two servers' worth of every habit at a few endpoints.
type deliveryStorm struct {
	*testing.T
	servers              []*DB
	sent, taken, settled atomic.Int64
}

// check reports an error that no caller of a storm may see: refusals by a rule are none.
func (s *deliveryStorm) check(what string, err error) {
	if err != nil && !errors.Is(err, webhook.ErrConflict) && !errors.Is(err, webhook.ErrNotFound) && fault.CodeOf(err) != fault.InvalidArgument {
		s.Errorf("%s: %v", what, err)
	}
}

func (s *deliveryStorm) send(db *DB) {
	items := make([]webhook.NewEvent, 1+rand.N(5))
	for i := range items {
		n := s.sent.Add(1)
		if rand.N(6) == 0 {
			n = 1 + rand.Int64N(n) // again: a replay
		}
		items[i] = news(n)
	}
	out, err := db.Send(s.Context(), items...)
	s.check("send", err)
	for _, o := range out {
		s.check("send", o.Err)
	}
}

func (s *deliveryStorm) work(db *DB, faults bool) int {
	taken, err := db.TakeDeliveries(s.Context(), webhook.Take{Owner: "w", Max: 1 + rand.N(20), Slack: 20 * time.Millisecond})
	s.check("take", err)
	s.taken.Add(int64(len(taken.Jobs)))
	var jobs []*webhook.Job
	for i := range taken.Jobs {
		if !faults || rand.N(15) > 0 { // else the worker died
			jobs = append(jobs, &taken.Jobs[i])
		}
	}
	if len(jobs) == 0 {
		return len(taken.Jobs)
	}
	begun, err := db.BeginDeliveries(s.Context(), jobs)
	s.check("begin", err)
	var ends []webhook.Outcome
	for i, b := range begun {
		if !b.Applied {
			continue
		}
		o := webhook.Outcome{Job: jobs[i], Kind: ledger.Succeeded, Result: webhook.WasDelivered, Status: 200}
		if faults {
			o.Kind = pick(ledger.Succeeded, ledger.Succeeded, ledger.Definite, ledger.Permanent, ledger.Ambiguous, ledger.GivenBack)
			if o.Kind != ledger.Succeeded {
				o.Result, o.RetryIn = webhook.Unknown, rand.N(20*time.Millisecond)
			}
			if rand.N(200) == 0 {
				o.Disable = "gone"
			}
		}
		if ends = append(ends, o); faults && rand.N(20) == 0 {
			ends = append(ends, o) // its answer was lost
		}
	}
	if faults && rand.N(5) == 0 {
		time.Sleep(50 * time.Millisecond) // frozen past the lease
	}
	_, err = db.SettleDeliveries(s.Context(), ends...)
	s.check("settle", err)
	s.settled.Add(int64(len(ends)))
	return len(taken.Jobs)
}

func (s *deliveryStorm) person(db *DB) {
	ctx := s.Context()
	endpoints, err := db.Endpoints(ctx, webhook.Filter{Project: 1})
	s.check("endpoints", err)
	switch n := rand.N(12); {
	case n == 0 && len(endpoints) > 3:
		s.check("delete", db.DeleteEndpoint(ctx, 1, endpoints[rand.N(len(endpoints))].ID))
	case n < 2 && len(endpoints) < 8:
		hook(s, db, func(e *webhook.Endpoint) { e.Policy = pick(ledger.Idempotent, ledger.Once) })
	case n < 6 && len(endpoints) > 0:
		_, err := db.UpdateEndpoint(ctx, 1, endpoints[rand.N(len(endpoints))].ID, func(_ time.Time, e *webhook.Endpoint) error {
			e.Disabled = rand.N(4) == 0
			return nil
		})
		s.check("update", err)
	case n < 8:
		_, err := db.RedriveDeliveries(ctx, webhook.RedriveCall{Project: 1, Canary: rand.N(2) == 0, Who: "p"})
		s.check("redrive", err)
	default:
		l, _, err := db.Deliveries(ctx, webhook.Filter{Project: 1, State: pick(webhook.Failed, webhook.Stuck, webhook.Retrying, webhook.Pending)})
		s.check("list", err)
		if len(l) == 0 {
			return
		}
		a := webhook.Act{Project: 1, ID: l[rand.N(len(l))].ID, Who: "p"}
		_, err = db.Resend(ctx, a, rand.N(2) == 0)
		s.check("resend", err)
		_, err = db.Cancel(ctx, a)
		s.check("cancel", err)
		_, err = db.Resolve(ctx, a, pick(ledger.Retry, ledger.Done, ledger.Failed))
		s.check("resolve", err)
	}
}

func (s *deliveryStorm) keep(db *DB) {
	_, err := db.Sweep(s.Context(), 50)
	s.check("sweep", err)
	_, _, err = db.StepRedrives(s.Context(), 20)
	s.check("step", err)
}

// Two servers share the deliveries of a few endpoints while persons act on all of it: no deadlock reaches anybody, every
// change of a row is one that the rules allow, no group is ever left with a wrong count or without its turn, and when
// the faults are over everything comes to rest by itself (I2, I3, I5, I7, I9, I10, I12, I15, I16, H-Q15).
func TestDeliveriesOfTwoServersInAStorm(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	s := &deliveryStorm{T: t, servers: []*DB{openAt(t, url), openAt(t, url)}}
	pool := s.servers[0].pool
	for _, file := range []string{"audit_claims_postgres.sql", "audit_postgres.sql"} {
		audit, err := os.ReadFile("../storetest/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pool.Exec(t.Context(), string(audit), pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		hook(t, s.servers[0], func(e *webhook.Endpoint) {
			if i%2 == 1 {
				e.Policy = ledger.Once
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 2 {
		db := s.servers[i]
		for _, habit := range []func(){
			func() { s.send(db) }, func() { s.send(db) }, func() { s.work(db, true) }, func() { s.work(db, true) }, func() { s.work(db, true) },
			func() { s.person(db) }, func() { s.keep(db) },
		} {
			wg.Go(func() {
				for ctx.Err() == nil {
					habit()
				}
			})
		}
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			wrong, err := groupsWrong(t.Context(), s.servers[0])
			s.check("look at the groups", err)
			for _, w := range wrong {
				t.Error(w)
			}
		}
	})
	wg.Wait()
	if t.Failed() {
		return
	}
	s.rest()
	for what, query := range map[string]string{
		"the watch saw":                       `SELECT what || ' ' || id || ' ' || coalesce(detail, '') FROM audit_violations`,
		"a deadlock":                          `SELECT deadlocks::text FROM pg_stat_database WHERE datname = current_database() AND deadlocks > 0`,
		"an open claim":                       `SELECT id || ' ' || state FROM claims WHERE state NOT IN ('done', 'failed', 'stuck')`,
		"a waiting message":                   `SELECT id::text FROM messages WHERE dead_at IS NULL`,
		"a slot in use":                       `SELECT id::text FROM groups WHERE in_flight <> 0`,
		"an attempt's number given twice":     `SELECT delivery || ' ' || attempt FROM attempts GROUP BY delivery, attempt HAVING count(*) > 1`,
		"a dead letter whose key is not dead": `SELECT m.id || ' ' || c.state FROM messages m JOIN claims c ON c.id = m.claim_id WHERE m.dead_at IS NOT NULL AND c.state NOT IN ('failed', 'stuck')`,
		"a dead key without its letter": `SELECT d.id || ' ' || c.state FROM deliveries d JOIN claims c ON c.id = d.claim_id
			WHERE c.state IN ('failed', 'stuck') AND d.cancelled_at IS NULL AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.claim_id = c.id AND m.dead_at IS NOT NULL)`,
		"a delivered one never delivered": `SELECT d.id::text FROM deliveries d JOIN claims c ON c.id = d.claim_id
			WHERE c.state = 'done' AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.claim_id = c.id AND a.outcome = 'delivered')
			AND NOT EXISTS (SELECT 1 FROM claim_notes n WHERE n.claim_id = c.id AND n.what = 'resolved')`,
		"a redrive that does not add up": `SELECT id::text FROM redrives WHERE total <> moved + left_behind AND state <> 'running'`,
	} {
		rows, err := pool.Query(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		wrong, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		if len(wrong) > 0 {
			t.Errorf("%s: %d, %q", what, len(wrong), wrong[:min(10, len(wrong))])
		}
	}
	t.Logf("sent %d, taken %d, settled %d", s.sent.Load(), s.taken.Load(), s.settled.Load())
	if s.taken.Load() == 0 {
		t.Error("nothing was taken")
	}
}

// rest lets everything go, without faults, until nothing is left to do.
func (s *deliveryStorm) rest() {
	db := s.servers[1]
	eventually(s, "everything is at rest", func() bool {
		endpoints, err := db.Endpoints(s.Context(), webhook.Filter{Project: 1})
		s.check("endpoints", err)
		for _, e := range endpoints {
			_, err := db.UpdateEndpoint(s.Context(), 1, e.ID, func(_ time.Time, e *webhook.Endpoint) error { e.Disabled = false; return nil })
			s.check("enable", err)
		}
		n := 0
		for range 20 {
			s.keep(db)
			n += s.work(db, false)
		}
		var left int
		if err := db.pool.QueryRow(s.Context(), `SELECT (SELECT count(*) FROM messages WHERE dead_at IS NULL) + (SELECT count(*) FROM redrives WHERE state = 'running')`).Scan(&left); err != nil {
			s.Fatal(err)
		}
		return n == 0 && left == 0
	})
}
