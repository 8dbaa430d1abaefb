package postgres

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

// The suite's calls for keys, and what is said of them, each by a SQL function in a transaction of a caller's own.
func TestLedgerBySQL(t *testing.T) {
	t.Parallel()
	suiteByCallers(t, byCallers{
		opened: func(ctx context.Context, url string) error { _, err := Functions(ctx, url, true); return err },
		areas:  []string{"grants", "words", "reaping", "links", "work"},
		claims: true,
	})
}

// bySQL does items in one transaction of a caller's own, which is made again after a deadlock.
func bySQL[In, Out any](ctx context.Context, s *byCallers, items []In, do func(tx pgx.Tx, item In, out *Out) error) ([]Out, error) {
	for {
		out := make([]Out, len(items))
		err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			for i := range items {
				if err := do(tx, items[i], &out[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if sqlState(err) != "40P01" {
			return out, err
		}
	}
}

// bySQLFollowed is bySQL after which messages have followed their keys, as they do at the next sweep.
func bySQLFollowed[In, Out any](ctx context.Context, s *byCallers, items []In, do func(tx pgx.Tx, item In, out *Out) error) ([]Out, error) {
	out, err := bySQL(ctx, s, items, do)
	if err == nil {
		_, err = s.followAll(ctx, 1000)
	}
	return out, err
}

// carrier gives the message that is to carry a call's key as SQL takes it, and whether its lease is lost.
func (s *byCallers) carrier(ctx context.Context, tx pgx.Tx, c ledger.Call) (name, handle *string, lost bool, err error) {
	if c.MessageID == 0 {
		return nil, nil, false, nil
	}
	name = new("gone")
	err = tx.QueryRow(ctx, "SELECT q.name, m.lease_no <> $2 OR NOT m.receipt_open FROM messages m JOIN queues q ON q.id = m.queue WHERE m.id = $1", c.MessageID, c.Lease).Scan(name, &lost)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return name, new(ids.New(s.Secret()).Receipt(c.Project, *name, c.MessageID, c.Lease)), lost, err
}

// linkBySQL gives what Go says of a message that may not carry a key.
func linkBySQL(err error) error {
	switch sqlState(err) {
	case "OW404":
		return queue.ErrMessageNotFound
	case "OW409":
		return fault.Sentinel(fault.Conflict)
	}
	return nil
}

func (s *byCallers) Claim(ctx context.Context, calls ...ledger.Call) ([]ledger.Answer, error) {
	if !s.claims || s.carried(ctx) != nil || calls[0].Keep != 0 {
		return s.DB.Claim(ctx, calls...)
	}
	granted := map[string]bool{}
	return bySQLFollowed(ctx, s, calls, func(tx pgx.Tx, c ledger.Call, a *ledger.Answer) error {
		if _, err := tx.Exec(ctx, "INSERT INTO projects (id, name) VALUES ($1::bigint, 'project ' || $1::bigint) ON CONFLICT DO NOTHING", c.Project); err != nil {
			return err
		}
		var before int64
		var held bool
		err := tx.QueryRow(ctx, "SELECT coalesce(max(fence), 0), coalesce(bool_or(state IN ('claimed', 'started')), false) FROM worker_claims WHERE hash = $1", sendKey(c)).Scan(&before, &held)
		if err != nil {
			return err
		}
		var fence int64
		var op string
		var wait *float64
		if len(c.WorkHash) == 0 {
			c.WorkHash = nil
		}
		name, handle, lost, err := s.carrier(ctx, tx, c)
		if err != nil {
			return err
		}
		err = s.try(ctx, tx, func(tx pgx.Tx) error {
			return tx.QueryRow(ctx, `SELECT verdict, fence, op_id, retry_after_seconds FROM onceward_claim($1, $2, $3, greatest(1, $4::float8), $5, $6, $7, nullif($8::float8, 0), nullif($9, '0001-01-01Z'::timestamptz), $10,
			(SELECT name FROM projects WHERE id = $11::bigint), $12, $13)`,
				c.Scope, c.Key, c.Owner, c.Grant.Lease.Seconds(), string(c.Policy), c.WorkHash, max(1, c.MaxTries), c.Window.Seconds(), c.OriginAt, c.GrantID, c.Project, name, handle).
				Scan((*string)(&a.Verdict), &fence, &op, &wait)
		})
		if err != nil {
			a.Err = linkBySQL(err)
			if a.Err != nil {
				err = nil
			}
			return err
		}
		a.Lost = lost && a.Verdict == ledger.Busy
		if a.Verdict == ledger.Granted {
			a.Repeated = fence == before
			a.Lapsed = held && !a.Repeated
			if a.Repeated && granted[c.Key] {
				a.Ruling = ledger.Ruling{Verdict: ledger.Busy, Wait: c.Grant.Lease} // in a batch of one transaction the same call would be its own
			}
			granted[c.Key] = true
			if c.Grant.Lease < time.Second && !a.Repeated { // shorter than SQL takes: the tests want leases that run out
				if _, err := tx.Exec(ctx, "UPDATE worker_claims SET lease_until = now() + $2::float8 * interval '1 s' WHERE hash = $1", sendKey(c), c.Grant.Lease.Seconds()); err != nil {
					return err
				}
			}
		}
		if wait != nil {
			a.Wait = duration(*wait)
		}
		rows, err := tx.Query(ctx, lockKeysSQL, [][]byte{sendKey(c)}, "")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			found, err := scanClaim(rows)
			if err != nil {
				return err
			}
			if a.Claim = found.Claim; a.Claim.OpID() != op {
				return errors.New("another op id: " + op)
			}
		}
		return rows.Err()
	})
}

func sendKey(c ledger.Call) []byte {
	h := ledger.Hash(c.Project, c.Scope, c.Key)
	return h[:]
}

func (s *byCallers) Begin(ctx context.Context, beats ...ledger.Beat) ([]ledger.Applied, error) {
	if !s.claims || s.carried(ctx) != nil {
		return s.DB.Begin(ctx, beats...)
	}
	return bySQLFollowed(ctx, s, beats, func(tx pgx.Tx, b ledger.Beat, a *ledger.Applied) error {
		err := said(tx.QueryRow(ctx, "SELECT * FROM onceward_begin($1, $2, $3, greatest(1, $4::float8), (SELECT name FROM projects WHERE id = $5))", b.Scope, b.Key, b.Fence, b.Lease.Seconds(), b.Project), a)
		if err == nil && a.Applied && b.Lease < time.Second {
			h := ledger.Hash(b.Project, b.Scope, b.Key)
			_, err = tx.Exec(ctx, "UPDATE worker_claims SET lease_until = now() + $2::float8 * interval '1 s' WHERE hash = $1", h[:], b.Lease.Seconds())
		}
		return err
	})
}

func (s *byCallers) SettleClaims(ctx context.Context, words ...ledger.Word) ([]ledger.Applied, error) {
	if !s.claims || s.carried(ctx) != nil {
		return s.DB.SettleClaims(ctx, words...)
	}
	return bySQLFollowed(ctx, s, words, func(tx pgx.Tx, w ledger.Word, a *ledger.Applied) error {
		if w.Kind == ledger.Succeeded {
			return said(tx.QueryRow(ctx, "SELECT * FROM onceward_complete($1, $2, $3, $4, (SELECT name FROM projects WHERE id = $5), $6)", w.Scope, w.Key, w.Fence, w.Result, w.Project, w.Settle), a)
		}
		return said(tx.QueryRow(ctx, "SELECT * FROM onceward_fail($1, $2, $3, $4, nullif($5, ''), $6, (SELECT name FROM projects WHERE id = $7), $8)", w.Scope, w.Key, w.Fence, string(w.Kind), clean(w.Error), w.RetryIn.Seconds(), w.Project, w.Settle), a)
	})
}

func said(r pgx.Row, a *ledger.Applied) error {
	var state, reason *string
	if err := r.Scan(&a.Applied, &state, &reason); err != nil {
		return err
	}
	if state != nil {
		a.State = ledger.State(*state)
	}
	if reason != nil {
		a.Reason = *reason
	}
	return nil
}

// A key that an open transaction has claimed and completed: others ask for theirs meanwhile, and who asks for that one is told "not now", within a bound.
func TestOpenClaimStopsNoOther(t *testing.T) {
	t.Parallel()
	db, at := withFunctions(t)
	ctx := t.Context()
	tx := begun(t, caller(t, at, 1))
	var verdict string
	var applied bool
	if err := tx.QueryRow(ctx, "SELECT verdict FROM onceward_claim('mail', 'theirs', 'me')").Scan(&verdict); err != nil || verdict != "granted" {
		t.Fatalf("%s, %v", verdict, err)
	}
	if err := tx.QueryRow(ctx, "SELECT applied FROM onceward_complete('mail', 'theirs', 1, 'sent')").Scan(&applied); err != nil || !applied {
		t.Fatalf("applied %v, %v", applied, err)
	}
	call := func(key string) ledger.Call {
		return ledger.Call{Project: 1, Scope: "mail", Key: key, Policy: ledger.Idempotent, MaxTries: 5, Grant: ledger.Grant{GrantID: randomName(), Owner: "other", Lease: time.Minute}}
	}
	waiting := make(chan error, 3)
	go func() {
		_, err := db.Claim(ctx, call("theirs"))
		waiting <- err
	}()
	go func() {
		_, err := db.Begin(ctx, ledger.Beat{Project: 1, Scope: "mail", Key: "theirs", Fence: 1, Lease: time.Minute})
		waiting <- err
	}()
	go func() {
		_, err := db.SettleClaims(ctx, ledger.Word{Project: 1, Scope: "mail", Key: "theirs", Fence: 1, Kind: ledger.Succeeded})
		waiting <- err
	}()
	blocked(t, db)
	for _, key := range []string{"a", "b", "c"} {
		a, err := db.Claim(ctx, call(key))
		if err != nil || a[0].Verdict != ledger.Granted {
			t.Fatalf("beside the held key: %+v, %v", a, err)
		}
		if w, err := db.SettleClaims(ctx, word1(key)); err != nil || !w[0].Applied {
			t.Errorf("beside the held key: %+v, %v", w, err)
		}
		if key == "a" && len(waiting) == cap(waiting) {
			t.Error("nobody waits for the held key any more: the others were not beside one who does")
		}
	}
	if _, err := db.Sweep(ctx, 100); err != nil {
		t.Errorf("a sweep beside the held key: %v", err)
	}
	errs := 0
	for range cap(waiting) {
		if err := <-waiting; fault.CodeOf(err) == fault.Unavailable {
			errs++
		} else if err != nil {
			t.Errorf("the held key: %v", err)
		}
	}
	if errs == 0 {
		t.Errorf("nobody who wanted the held key was told %s", fault.Unavailable)
	}
	commit(t, tx)
	a, err := db.Claim(ctx, call("theirs"))
	if err != nil || a[0].Verdict != ledger.WasDone || string(a[0].Claim.Result) != "sent" {
		t.Errorf("after the commit: %+v, %v", a, err)
	}
}

func word1(key string) ledger.Word {
	return ledger.Word{Project: 1, Scope: "mail", Key: key, Fence: 1, Kind: ledger.Succeeded}
}

// A late success of a key whose message was dead-lettered leaves nothing to redrive, and what is out of range is refused.
func TestLedgerBySQLEdges(t *testing.T) {
	t.Parallel()
	db, _ := withFunctions(t)
	for _, call := range []string{
		`onceward_claim('', 'k')`, `onceward_claim('s', NULL)`, `onceward_claim('s', repeat('k', 513))`, `onceward_claim('s', 'k', lease_seconds => 0.5)`, `onceward_claim('s', 'k', lease_seconds => 43201)`,
		`onceward_claim('s', 'k', policy => 'maybe')`, `onceward_claim('s', 'k', work_hash => 'short')`, `onceward_claim('s', 'k', max_attempts => 0)`, `onceward_claim('s', 'k', receiver_window_seconds => 0)`,
		`onceward_claim(repeat('s', 129), 'k')`, `onceward_claim('é', 'k')`, `onceward_claim(NULL, 'k')`, `onceward_claim('s', 'k', max_attempts => 1001)`, `onceward_claim('s', 'k', receiver_window_seconds => 315360001)`,
		`onceward_claim('s', 'k', owner => repeat('o', 256))`, `onceward_fail('s', 'k', 1, retry_in_seconds => 604801)`,
		`onceward_fail('s', 'k', 1, 'maybe')`, `onceward_fail('s', 'k', 1, retry_in_seconds => -1)`, `onceward_begin('s', 'k', 1, 0)`,
	} {
		if _, err := db.pool.Exec(t.Context(), "SELECT "+call); sqlState(err) != "OW400" {
			t.Errorf("%s: %v, want OW400", call, err)
		}
	}
	if _, err := db.pool.Exec(t.Context(), "SELECT onceward_complete('s', 'k', 1, convert_to(repeat('r', 262145), 'UTF8'))"); sqlState(err) != "OW413" {
		t.Errorf("a result of more than HTTP takes: %v, want OW413", err)
	}
	for _, call := range []string{`onceward_complete('s', 'none', 1)`, `onceward_fail('s', 'none', 1)`, `onceward_begin('s', 'none', 1)`} {
		if reason := query[string](t, db, "SELECT reason FROM "+call); reason != "not_found" {
			t.Errorf("%s: %s", call, reason)
		}
	}
	if n := count(t, db, "SELECT count(*) FROM claims"); n != 0 {
		t.Errorf("%d claims are there", n)
	}
	make1(t, db, "jobs")
	publish(t, db, queue.Publish{Queue: "jobs"})
	m := receive(t, db, "jobs", 1)[0]
	a, err := db.Claim(t.Context(), ledger.Call{Project: 1, Scope: "s", Key: "k", Policy: ledger.Once, MaxTries: 5, MessageID: m.ID, Lease: m.Lease, Grant: ledger.Grant{GrantID: "g", Owner: "o", Lease: time.Minute}})
	if err != nil || a[0].Verdict != ledger.Granted {
		t.Fatalf("%+v, %v", a, err)
	}
	exec(t, db, "SELECT onceward_begin('s', 'k', 1)")
	if out, err := db.Settle(t.Context(), queue.Settle{Verb: queue.Nack, Project: 1, Queue: "jobs", ID: m.ID, Lease: m.Lease, DeadLetter: true}); err != nil || !out[0].Applied {
		t.Fatalf("%+v, %v", out, err)
	}
	if s := query[string](t, db, "SELECT state FROM onceward_complete('s', 'k', 1)"); s != "done" {
		t.Errorf("a late success left the key %s", s)
	}
	if _, err := db.Sweep(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, "SELECT (SELECT count(*) FROM messages) + (SELECT count(*) FROM bodies)"); n != 0 {
		t.Errorf("the dead letter of a key that is done is still there")
	}
}

// Whoever may call a function may call it from a schema of its own, and a payload's hash is that of a claim over HTTP.
func TestWorkHashInSQL(t *testing.T) {
	t.Parallel()
	db, _ := withFunctions(t)
	v := `{"b": [1.50, {"é": null}], "a": "\u00e9"}`
	want, err := ledger.Fingerprint([]byte(v))
	if err != nil {
		t.Fatal(err)
	}
	err = pgx.BeginFunc(t.Context(), db.pool, func(tx pgx.Tx) error {
		var got []byte
		if _, err := tx.Exec(t.Context(), "SET LOCAL search_path = pg_catalog"); err != nil {
			return err
		}
		if err := tx.QueryRow(t.Context(), "SELECT public.onceward_work_hash($1::text::json)", v).Scan(&got); err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%x in SQL, %x elsewhere", got, want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
