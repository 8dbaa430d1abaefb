package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"strings"
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
		t.Cleanup(func() { checkCounts(t, path) })
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

// checkCounts holds the kept counts against the rows that a test left.
func checkCounts(t testing.TB, path string) {
	if strings.Contains(t.Name(), "/audit/") {
		return // its rows were changed by hand
	}
	db, err := sql.Open(driver, path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`
SELECT c.queue, 'counts', c.total || ' ' || c.leased || ' ' || c.dead || ' ' || c.dead_here AS kept,
  (SELECT count(*) || ' ' || coalesce(sum(leased), 0) FROM messages WHERE queue = c.queue) || ' ' ||
  (SELECT count(*) FROM messages WHERE source_queue = c.queue) || ' ' || (SELECT count(*) FROM messages WHERE queue = c.queue AND dead_at IS NOT NULL) AS are
FROM counts c WHERE kept <> are
UNION ALL
SELECT queue, 'delayed until ' || due_s, coalesce((SELECT n FROM delay_counts d WHERE d.queue = m.queue AND d.due_s = m.due_s), 0), n FROM (
  SELECT queue, vis / 1000000 AS due_s, count(*) AS n FROM messages WHERE leased = 0 AND vis > published_at AND vis > (unixepoch() + 1) * 1000000 GROUP BY 1, 2) m
WHERE n <> coalesce((SELECT n FROM delay_counts d WHERE d.queue = m.queue AND d.due_s = m.due_s), 0)`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var queue int
		var what, kept, are string
		if err := rows.Scan(&queue, &what, &kept, &are); err != nil {
			t.Fatal(err)
		}
		t.Errorf("queue %d, %s: kept %s, the rows say %s", queue, what, kept, are)
	}
	if err := rows.Err(); err != nil {
		t.Error(err)
	}
}
