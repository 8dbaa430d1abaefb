//go:build unix

package pgtest

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestDatabaseIsFresh(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a, b := Database(t), Database(t)
	if a == b {
		t.Fatalf("two databases at %s", a)
	}
	for _, url := range []string{a, b} {
		if err := execOn(ctx, url, "CREATE TABLE only_once (x int)"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestClusterComesBackWithWhatWasCommitted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c, err := Start(ctx, Options{Fsync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := execOn(ctx, c.URL("postgres"), "CREATE TABLE kept AS SELECT 1 AS x"); err != nil {
		t.Fatal(err)
	}
	c.Down()
	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := execOn(short, c.URL("postgres"), "SELECT 1"); err == nil {
		t.Fatal("a server that is down answered")
	}
	if err := c.Up(ctx); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := conn.QueryRow(ctx, "SELECT x FROM kept").Scan(&n); err != nil || n != 1 {
		t.Fatalf("after the restart: %d, %v", n, err)
	}
	conn.Close(ctx)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(c.dir); !os.IsNotExist(err) {
		t.Fatalf("the folder is still there: %v", err)
	}
}
