package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/sqlitetest"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/store/sqldb"
)

// each runs a test over each way to a database, empty.
func each(t *testing.T, test func(t *testing.T, db *sql.DB, store ledger.Store, install func(context.Context) error)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		db := sqlitetest.Open(t)
		s := sqldb.SQLite(db)
		test(t, db, s, s.Install)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		db, _ := postgres(t)
		s := sqldb.Postgres(db)
		test(t, db, s, s.Install)
	})
	t.Run("pgx", func(t *testing.T) {
		t.Parallel()
		db, url := postgres(t)
		s := sqldb.Pgx(pool(t, url))
		test(t, db, s, s.Install)
	})
}

func ask(t *testing.T, s ledger.Store) ledger.Answer {
	t.Helper()
	out, err := s.Claim(t.Context(), ledger.Call{
		Project: 1, Scope: "request", Key: "k", Policy: ledger.Idempotent, MaxTries: 5,
		Grant: ledger.Grant{GrantID: time.Now().String(), Lease: time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

func say(t *testing.T, s ledger.Store, a ledger.Answer) {
	t.Helper()
	w := ledger.Word{Project: 1, Scope: "request", Key: "k", Fence: a.Claim.Fence, Kind: ledger.Succeeded, Result: []byte("the answer")}
	if out, err := s.SettleClaims(t.Context(), w); err != nil || !out[0].Applied {
		t.Fatalf("%+v, %v", out, err)
	}
}

// Install makes the tables once, whoever else does so at the same time, and changes nothing that is there.
func TestInstall(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, s ledger.Store, install func(context.Context) error) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if err := install(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		say(t, s, ask(t, s))
		if err := install(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a := ask(t, s); a.Verdict != ledger.WasDone {
			t.Errorf("installed again: %s", a.Verdict)
		}
	})
}

// The schema as a team's own migration runs it.
func TestSchemaInAMigration(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, s ledger.Store, _ func(context.Context) error) {
		schema := sqldb.PostgresSchema()
		if strings.HasSuffix(t.Name(), "sqlite") {
			schema = sqldb.SQLiteSchema()
		}
		for range 2 {
			if _, err := db.Exec(schema); err != nil {
				t.Fatal(err)
			}
		}
		say(t, s, ask(t, s))
	})
}

// A database without the tables is no database that is away.
func TestNoTables(t *testing.T) {
	each(t, func(t *testing.T, _ *sql.DB, s ledger.Store, _ func(context.Context) error) {
		_, err := s.Claim(t.Context(), ledger.Call{Project: 1, Scope: "s", Key: "k", Policy: ledger.Idempotent, Grant: ledger.Grant{GrantID: "g", Lease: time.Minute}})
		if err == nil || fault.CodeOf(err) == fault.Unavailable || !strings.Contains(err.Error(), "Install") {
			t.Errorf("%v", err)
		}
	})
}

// A result is kept byte for byte, whatever it is; a text that the databases cannot hold is made one that they can.
func TestBytes(t *testing.T) {
	each(t, func(t *testing.T, _ *sql.DB, s ledger.Store, install func(context.Context) error) {
		if err := install(t.Context()); err != nil {
			t.Fatal(err)
		}
		var all []byte
		for i := range 1 << 20 {
			all = append(all, byte(i*7))
		}
		call := ledger.Call{
			Project: largest, Scope: "a\x00b", Key: "\xff'\"\\\U0001F600", Policy: ledger.Idempotent, MaxTries: 1 << 30, Window: 90*time.Second + time.Microsecond,
			Grant: ledger.Grant{GrantID: "g\x00", Owner: "\xfe", Lease: time.Minute, WorkHash: all[:32]},
		}
		out, err := s.Claim(t.Context(), call)
		if err != nil || out[0].Claim.Window != call.Window || out[0].Claim.Key != call.Key {
			t.Fatalf("%+v, %v", out, err)
		}
		if again, err := s.Claim(t.Context(), call); err != nil || again[0].Verdict != ledger.Granted {
			t.Errorf("the same call again: %s, %v", again[0].Verdict, err)
		}
		w := ledger.Word{Project: largest, Scope: call.Scope, Key: call.Key, Fence: 1, Kind: ledger.Succeeded, Result: all, Error: "\x00\xff"}
		if said, err := s.SettleClaims(t.Context(), w); err != nil || !said[0].Applied {
			t.Fatalf("%+v, %v", said, err)
		}
		c, _, err := s.FindClaim(t.Context(), largest, call.Scope, call.Key)
		if err != nil || string(c.Result) != string(all) || string(c.WorkHash) != string(all[:32]) || c.Window != call.Window {
			t.Errorf("%d bytes of %d, %v", len(c.Result), len(all), err)
		}
		call.Grant.WorkHash = all[1:33]
		if out, err := s.Claim(t.Context(), call); err != nil || out[0].Verdict != ledger.Mismatch {
			t.Errorf("other work: %+v, %v", out, err)
		}
	})
}

const largest = 1<<63 - 1 // the largest project

// A caller that is gone gets its own end, and no grant that nobody holds.
func TestGone(t *testing.T) {
	each(t, func(t *testing.T, _ *sql.DB, s ledger.Store, install func(context.Context) error) {
		if err := install(t.Context()); err != nil {
			t.Fatal(err)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		_, err := s.Claim(gone, ledger.Call{Project: 1, Scope: "s", Key: "k", Policy: ledger.Idempotent, Grant: ledger.Grant{GrantID: "g", Lease: time.Minute}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if _, _, err := s.FindClaim(t.Context(), 1, "s", "k"); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("a key that nobody asked for: %v", err)
		}
	})
}

// A transaction does not begin within another, and one that is over takes nothing.
func TestTransactions(t *testing.T) {
	t.Parallel()
	_, url := postgres(t)
	s := installed(t, sqldb.Pgx(pool(t, url)))
	var over context.Context
	err := s.InTx(t.Context(), func(ctx context.Context, _ pgx.Tx) error {
		over = ctx
		if err := s.InTx(ctx, func(context.Context, pgx.Tx) error { return nil }); err == nil {
			t.Error("a transaction within another")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Claim(over, ledger.Call{Project: 1, Scope: "s", Key: "k", Policy: ledger.Idempotent, Grant: ledger.Grant{GrantID: "g", Lease: time.Minute}}); err == nil {
		t.Error("a claim in a transaction that is over")
	}
}

// A store that was closed is none that comes back: nobody waits for it.
func TestClosed(t *testing.T) {
	each(t, func(t *testing.T, _ *sql.DB, s ledger.Store, install func(context.Context) error) {
		if err := install(t.Context()); err != nil {
			t.Fatal(err)
		}
		a := ask(t, s)
		if err := s.(interface{ Close() error }).Close(); err != nil {
			t.Fatal(err)
		}
		_, err := s.SettleClaims(t.Context(), ledger.Word{Project: 1, Scope: "request", Key: "k", Fence: a.Claim.Fence, Kind: ledger.Succeeded})
		if err == nil || fault.CodeOf(err) == fault.Unavailable || !strings.Contains(err.Error(), "closed") {
			t.Errorf("%v", err)
		}
	})
}
