// Package sqlitetest opens SQLite databases for tests, as an application of somebody else's would: through the C library under the race
// detector, which makes the pure-Go one many times slower.
package sqlitetest

import (
	"database/sql"
	"path/filepath"
	"testing"
)

// Open gives an empty database of the test's own.
func Open(t testing.TB) *sql.DB {
	t.Helper()
	return OpenFile(t, filepath.Join(t.TempDir(), "app.db"))
}

// OpenFile opens a database's file until the test ends.
func OpenFile(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open(Driver, DSN(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
