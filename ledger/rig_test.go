package ledger_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/onceward/onceward/internal/leak"
	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/internal/sqlitetest"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/store/sqldb"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// base is a database of a team's own, with the ledger in it.
type base struct {
	db    *sql.DB
	store *sqldb.DB[*sql.Tx]
	mark  string // the first parameter of a statement
}

// onBoth runs a test on SQLite and on PostgreSQL.
func onBoth(t *testing.T, test func(t *testing.T, b base)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, onSQLite(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, onPostgres(t))
	})
}

// past waits until the clock that the store goes by is past a moment.
func (b base) past(t testing.TB, at time.Time) {
	t.Helper()
	for {
		now := time.Now()
		if b.mark == "$1" {
			if err := b.db.QueryRowContext(t.Context(), "SELECT clock_timestamp()").Scan(&now); err != nil {
				t.Fatal(err)
			}
		}
		if now.After(at) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func onPostgres(t testing.TB) base {
	db := openPostgres(t, pgtest.Database(t))
	return install(t, base{db, sqldb.Postgres(db), "$1"})
}

func openPostgres(t testing.TB, url string) *sql.DB {
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func onSQLite(t testing.TB) base {
	db := sqlitetest.Open(t)
	return install(t, base{db, sqldb.SQLite(db), "?"})
}

func install(t testing.TB, b base) base {
	t.Helper()
	t.Cleanup(func() { b.db.Close() })
	if err := b.store.Install(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.db.Exec("CREATE TABLE effects (key text NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	return b
}

// ledger gives a Ledger with short pauses; with changes its Config.
func (b base) ledger(t testing.TB, with ...func(*ledger.Config)) *ledger.Ledger {
	t.Helper()
	return open(t, b.store, with...)
}

func open(t testing.TB, s ledger.Store, with ...func(*ledger.Config)) *ledger.Ledger {
	t.Helper()
	c := ledger.Config{Store: s, Scope: "mail", Logger: slog.New(slog.DiscardHandler), Retry: func(int) time.Duration { return time.Nanosecond }}
	for _, w := range with {
		w(&c)
	}
	l, err := ledger.NewLedger(c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// insert is an effect in the database, which a test counts.
func (b base) insert(ctx context.Context, tx *sql.Tx, key string) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO effects (key) VALUES ("+b.mark+")", key)
	return err
}

func (b base) effects(t testing.TB) (n int) {
	t.Helper()
	if err := b.db.QueryRow("SELECT count(*) FROM effects").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// says is an effect that answers.
func says(result string, err error) ledger.Effect {
	return func(context.Context, ledger.Try) ([]byte, error) { return []byte(result), err }
}

// never is an effect that must not be made.
func never(t testing.TB) ledger.Effect {
	return func(_ context.Context, y ledger.Try) ([]byte, error) {
		t.Errorf("the effect of %s was made again", y.Key)
		return nil, nil
	}
}

func work(key string) ledger.Work { return ledger.Work{Key: key} }

func check[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// key gives a key that no other test has.
func key(t testing.TB, i int) string { return fmt.Sprint(t.Name(), " ", i) }
