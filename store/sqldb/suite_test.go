package sqldb_test

import (
	"context"
	"database/sql"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/onceward/onceward/internal/leak"
	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/internal/sqlitetest"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/store"
	"github.com/onceward/onceward/store/sqldb"
	"github.com/onceward/onceward/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

func postgres(t testing.TB) (*sql.DB, string) {
	url := pgtest.Database(t)
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, url
}

func pool(t testing.TB, url string) *pgxpool.Pool {
	p, err := pgxpool.New(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func installed[T any](t testing.TB, d *sqldb.DB[T]) *sqldb.DB[T] {
	t.Helper()
	if err := d.Install(context.Background()); err != nil {
		t.Fatal(err)
	}
	return d
}

// instance gives what the suite looks at: open makes the store anew, as a process that starts would.
func instance[L interface {
	ledger.Store
	Close() error
}](db *sql.DB, open func(t testing.TB) L) func(testing.TB) *storetest.Instance {
	again := func(t testing.TB) store.Store { return storetest.ClaimsOnly(open(t)) }
	return func(t testing.TB) *storetest.Instance {
		return &storetest.Instance{Store: again(t), DB: db, Reopen: again}
	}
}

func TestSuite(t *testing.T) {
	t.Parallel()
	for _, b := range []struct {
		name string
		storetest.Backend
	}{
		{"sqlite", storetest.Backend{Dialect: storetest.SQLite, Unit: time.Microsecond, Open: func(t testing.TB) *storetest.Instance {
			db := sqlitetest.Open(t)
			return instance(db, func(t testing.TB) *sqldb.DB[*sql.Tx] { return installed(t, sqldb.SQLite(db)) })(t)
		}}},
		{"postgres", storetest.Backend{Dialect: storetest.Postgres, Open: func(t testing.TB) *storetest.Instance {
			db, _ := postgres(t)
			return instance(db, func(t testing.TB) *sqldb.DB[*sql.Tx] { return installed(t, sqldb.Postgres(db)) })(t)
		}}},
		{"pgx", storetest.Backend{Dialect: storetest.Postgres, Open: func(t testing.TB) *storetest.Instance {
			db, url := postgres(t)
			p := pool(t, url)
			return instance(db, func(t testing.TB) *sqldb.DB[pgx.Tx] { return installed(t, sqldb.Pgx(p)) })(t)
		}}},
	} {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			b.Backend.ClaimsOnly = true
			storetest.Run(t, b.Backend)
		})
	}
}
