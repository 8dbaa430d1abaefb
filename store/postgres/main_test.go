package postgres

import (
	"context"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/onceward/onceward/internal/pgtest"
)

func TestMain(m *testing.M) {
	pgtest.Prepare(func(ctx context.Context, url string) error {
		db, err := Open(ctx, url, Options{})
		if err != nil {
			return err
		}
		defer db.Close()
		// The store's secret is each database's own.
		_, err = db.pool.Exec(ctx, "DELETE FROM meta WHERE name = 'secret'")
		return err
	})
	os.Exit(m.Run())
}

// open gives a store on a database of the test's own.
func open(t testing.TB) *DB {
	t.Helper()
	return openAt(t, pgtest.Database(t))
}

// openAt gives one more server over a database.
func openAt(t testing.TB, url string) *DB {
	t.Helper()
	db, err := Open(t.Context(), url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// Every statement is one that the schema knows: a name misspelt is found here and not under load.
func TestStatementsPrepare(t *testing.T) {
	t.Parallel()
	db := open(t)
	c, err := db.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	files, err := fs.Glob(statements, "sql/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d statements, %v", len(files), err)
	}
	for _, f := range files {
		b, err := fs.ReadFile(statements, f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Conn().Prepare(t.Context(), strings.TrimSuffix(f, ".sql"), string(b)); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}
