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
	storetest.Run(t, storetest.Backend{Dialect: storetest.Postgres, Open: func(t testing.TB) *storetest.Instance {
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
	}})
}
