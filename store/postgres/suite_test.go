package postgres_test

import (
	"database/sql"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/store"
	"github.com/onceward/onceward/store/postgres"
	"github.com/onceward/onceward/store/storetest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, backend())
}

// Order within a group, one in flight, whichever of the servers is asked, though each of them is cut off from the database again and again.
func TestFIFOOverServers(t *testing.T) {
	t.Parallel()
	storetest.FIFOStorm(t, backend(), 4, "")
	storetest.FIFOStorm(t, backend(), 3, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'onceward%' ORDER BY random() LIMIT 1`)
}

func backend() storetest.Backend {
	return storetest.Backend{Dialect: storetest.Postgres, Open: func(t testing.TB) *storetest.Instance {
		url := pgtest.Database(t)
		open := func(t testing.TB) store.Store {
			s, err := postgres.Open(t.Context(), url, postgres.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := open(t)
		db, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		return &storetest.Instance{Store: s, DB: db, Reopen: open}
	}}
}
