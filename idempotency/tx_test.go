package idempotency_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/idempotency"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/store/sqldb"
)

// effects are rows in a table of the caller's: each test has its own project's.
const effectsTable = `CREATE TABLE IF NOT EXISTS effects (project bigint NOT NULL, n bigint NOT NULL)`

// txRig is a rig whose handlers write to the database that has the ledger.
type txRig struct {
	*rig
	effects func() int
	deafen  func()
	refuse  func(ctx context.Context, tx any) error // as PostgreSQL refuses what it cannot serialise

	handle func(w http.ResponseWriter, q *http.Request, tx any) error // beside the effect, which is first
}

// onTx runs a test on every ledger that has transactions.
func onTx(t *testing.T, test func(r *txRig)) {
	t.Helper()
	t.Parallel()
	for name, open := range ledgers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, idempotency.Config{Ledger: open(t), Project: projects.Add(1)})
			r.postgres = strings.Contains(name, "PostgreSQL")
			switch db := r.config.Ledger.(type) {
			case *sqldb.DB[*sql.Tx]:
				test(newTxRig(r, db, func(ctx context.Context, tx *sql.Tx, query string, to *int) error {
					if to != nil {
						return tx.QueryRowContext(ctx, query).Scan(to)
					}
					_, err := tx.ExecContext(ctx, query)
					return err
				}))
			case *sqldb.DB[pgx.Tx]:
				test(newTxRig(r, db, func(ctx context.Context, tx pgx.Tx, query string, to *int) error {
					if to != nil {
						return tx.QueryRow(ctx, query).Scan(to)
					}
					_, err := tx.Exec(ctx, query)
					return err
				}))
			default:
				m, err := idempotency.New(idempotency.Config{Ledger: db, Tenant: idempotency.OneTenant})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := idempotency.Tx(m, func(http.ResponseWriter, *http.Request, *sql.Tx) error { return nil }); err == nil {
					t.Error("a ledger that has no such transactions is taken for Tx")
				}
			}
		})
	}
}

func newTxRig[T any](r *rig, db ledger.TxStore[T], run func(ctx context.Context, tx T, query string, to *int) error) *txRig {
	x := &txRig{rig: r, handle: func(w http.ResponseWriter, q *http.Request, _ any) error { made(w, q); return nil }}
	err := db.InTx(r.Context(), func(ctx context.Context, tx T) error {
		if r.postgres { // which can make a table only once at a time
			if err := run(ctx, tx, "SELECT pg_advisory_xact_lock(1)", nil); err != nil {
				return err
			}
		}
		return run(ctx, tx, effectsTable, nil)
	})
	if err != nil {
		r.Fatal(err)
	}
	x.effects = func() (n int) {
		r.Helper()
		if err := db.InTx(r.Context(), func(ctx context.Context, tx T) error {
			return run(ctx, tx, fmt.Sprintf("SELECT count(*) FROM effects WHERE project = %d", r.config.Project), &n)
		}); err != nil {
			r.Fatal(err)
		}
		return n
	}
	r.guard = func(m *idempotency.Middleware) http.Handler {
		h, err := idempotency.Tx(m, func(w http.ResponseWriter, q *http.Request, tx T) error {
			r.begins(q)
			if err := run(q.Context(), tx, fmt.Sprintf("INSERT INTO effects VALUES (%d, %d)", r.config.Project, r.begun()), nil); err != nil {
				return err
			}
			return x.handle(w, q, tx)
		})
		if err != nil {
			r.Fatal(err)
		}
		return h
	}
	r.build()
	x.refuse = func(ctx context.Context, tx any) error {
		return run(ctx, tx.(T), "DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$", nil)
	}
	x.deafen = func() {
		r.config.Ledger = deaf[T]{db}
		r.build()
	}
	return x
}

func (r *txRig) wants(begun, effects int) {
	r.Helper()
	r.want(begun)
	if n := r.effects(); n != effects {
		r.Fatalf("%d effects, want %d", n, effects)
	}
}

func TestTx(t *testing.T) {
	onTx(t, func(r *txRig) {
		whole := r.is(r.post(), http.StatusAccepted, "op_")
		r.replayed(r.post(), http.StatusAccepted, whole)
		r.is(r.post(body("{}")), http.StatusConflict, "REUSED")
		r.wants(1, 1)
		r.is(r.post(header("Idempotency-Key")), http.StatusAccepted, "op_")
		r.is(r.post(header("Idempotency-Key")), http.StatusAccepted, "op_")
		r.wants(3, 3)
	})
}

// What has no record has no effect.
func TestTxUndone(t *testing.T) {
	onTx(t, func(r *txRig) {
		r.config.MaxAnswer = 100
		r.build()
		n := 0
		for name, c := range map[string]struct {
			handle func(w http.ResponseWriter, q *http.Request, tx any) error
			status int
			part   string
		}{
			"an error": {func(http.ResponseWriter, *http.Request, any) error { return errors.New("secret") }, 500, `"INTERNAL"`},
			"an error after an answer": {func(w http.ResponseWriter, q *http.Request, _ any) error {
				made(w, q)
				return errors.New("secret")
			}, 500, `"INTERNAL"`},
			"a 503": {func(w http.ResponseWriter, _ *http.Request, _ any) error {
				http.Error(w, "not now", http.StatusServiceUnavailable)
				return nil
			}, 503, "not now"},
			"a large answer": {func(w http.ResponseWriter, _ *http.Request, _ any) error {
				w.Write(make([]byte, 60))
				w.Write(make([]byte, 60))
				return nil
			}, 500, `"INTERNAL"`},
			"not begun": {func(w http.ResponseWriter, q *http.Request, _ any) error {
				idempotency.NotBegun(q.Context())
				http.Error(w, "put it right", 400)
				return nil
			}, 400, "put it right"},
		} {
			for _, key := range []change{header("Idempotency-Key", name), header("Idempotency-Key")} {
				r.handle = c.handle
				n++
				if text := r.is(r.post(key), c.status, c.part); r.effects() != 0 {
					r.Fatalf("%s: an effect, and %s", name, text)
				}
			}
		}
		r.handle = func(http.ResponseWriter, *http.Request, any) error { panic("boom") }
		func() {
			defer func() {
				if recover() != "boom" {
					r.Error("the panic does not go on")
				}
			}()
			r.post(header("Idempotency-Key", "an error"))
		}()
		r.wants(n+1, 0)
		r.handle = func(w http.ResponseWriter, q *http.Request, _ any) error { made(w, q); return nil }
		r.is(r.post(header("Idempotency-Key", "an error")), http.StatusAccepted, "op_")
		r.wants(n+2, 1)
		if op := r.ops[n+1]; op.Attempt != 3 {
			r.Errorf("%+v", op)
		}
	})
}

// deaf is a ledger whose heartbeats do not arrive.
type deaf[T any] struct{ ledger.TxStore[T] }

func (deaf[T]) Begin(context.Context, ...ledger.Beat) ([]ledger.Applied, error) { return nil, errAway }

// A process that stands still past its lease has no effect: its transaction is undone, and that of who took its key over is the only one.
func TestTxFenced(t *testing.T) {
	onTx(t, func(r *txRig) {
		r.config.Lease = time.Second
		r.deafen()
		other := make(chan struct{})
		r.handle = func(w http.ResponseWriter, q *http.Request, _ any) error {
			if r.begun() > 1 {
				io.WriteString(w, "of the other")
				return nil
			}
			<-q.Context().Done()
			go func() {
				defer close(other)
				for r.post().StatusCode != http.StatusOK {
					time.Sleep(20 * time.Millisecond)
				}
			}()
			select {
			case <-other:
			case <-time.After(time.Second): // of SQLite's one writer the other waits for the end of this
			}
			io.WriteString(w, "of the frozen")
			return nil
		}
		if resp := r.post(); resp.StatusCode < 400 {
			r.Errorf("the frozen answered %d", resp.StatusCode)
		}
		<-other
		r.replayed(r.post(), http.StatusOK, "of the other")
		r.wants(2, 1)
	})
}

// The database undoes a transaction for the sake of another: the handler is run again from the start, with the whole request.
func TestTxRunAgain(t *testing.T) {
	onTx(t, func(r *txRig) {
		if !r.postgres {
			return // SQLite has one writer
		}
		for _, key := range []change{header("Idempotency-Key", "k"), header("Idempotency-Key")} {
			runs := 0
			r.handle = func(w http.ResponseWriter, q *http.Request, tx any) error {
				b, err := io.ReadAll(q.Body)
				if err != nil || string(b) != `{"month":5}` {
					r.Errorf("run %d has the body %q, %v", runs, b, err)
				}
				if runs++; runs == 1 {
					idempotency.NotBegun(q.Context())
					http.Error(w, "of the first run", http.StatusBadRequest)
					return r.refuse(q.Context(), tx)
				}
				made(w, q)
				return nil
			}
			r.is(r.post(key), http.StatusAccepted, "op_")
		}
		r.wants(4, 2)
		r.is(r.post(), http.StatusAccepted, "op_")
		r.wants(4, 2)
	})
}

// A request without a key is read whole too, before its transaction begins: a slow client holds no connection of the database.
func TestTxLargeBodyWithoutKey(t *testing.T) {
	onTx(t, func(r *txRig) {
		r.config.MaxBody = 5
		r.build()
		r.is(r.post(header("Idempotency-Key")), http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE")
		r.wants(0, 0)
	})
}
