package sqlite

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onceward/onceward/internal/migrate"
)

func open(t testing.TB, path string) *DB {
	t.Helper()
	db, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestSecondOpenIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a ?#%41.db")
	db := open(t, path)
	_, err := Open(t.Context(), path, Options{})
	if err == nil || !strings.Contains(err.Error(), "another process has it open") {
		t.Fatalf("second open: %v", err)
	}
	secret := string(db.Secret())
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, path)
	if len(secret) != 32 || string(again.Secret()) != secret {
		t.Error("the secret changed over a restart")
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	db := open(t, path)
	if err := db.writer.run("PRAGMA user_version = 999"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	_, err := Open(t.Context(), path, Options{})
	if e, ok := errors.AsType[*migrate.NewerError](err); !ok || e.Store != 999 {
		t.Fatalf("open of a newer store: %v", err)
	}
}

func TestPragmas(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "x.db"))
	for pragma, want := range map[string]string{"auto_vacuum": "2", "journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		var got string
		if err := db.writer.row("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, want %s (%v)", pragma, got, want, err)
		}
	}
	err := db.read(t.Context(), "test", func(r *tx) error {
		_, err := r.exec("meta_set", "x", 1)
		return err
	})
	if codeOf(err) != codeReadOnly {
		t.Errorf("a reader wrote: %v", err)
	}
}

func TestStatementsPrepare(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "x.db"))
	for name := range statements {
		if _, err := db.writer.stmt(name); err != nil {
			t.Error(err)
		}
	}
}
