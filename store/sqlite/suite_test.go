package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/onceward/onceward/store"
	"github.com/onceward/onceward/store/sqlite"
	"github.com/onceward/onceward/store/storetest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Backend{Dialect: storetest.SQLite, Unit: time.Microsecond, Open: func(t testing.TB) *storetest.Instance {
		path := filepath.Join(t.TempDir(), "test.db")
		open := func(t testing.TB) store.Store {
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := open(t)
		// The store's own driver: two libraries in one process would drop each other's locks.
		db, err := sql.Open(driver, path)
		if err != nil {
			t.Fatal(err)
		}
		db.SetMaxOpenConns(1)
		if _, err := db.Exec("PRAGMA busy_timeout = 10000"); err != nil {
			t.Fatal(err)
		}
		return &storetest.Instance{Store: s, DB: db, Reopen: open}
	}})
}
