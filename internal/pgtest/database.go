//go:build unix

package pgtest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
)

const template = "onceward_template"

var shared = struct {
	sync.Mutex
	prepare  func(ctx context.Context, url string) error
	cluster  *Cluster
	err      error
	prepared bool
}{}

// Prepare registers what makes the template that every database of this process is copied from: a store's migrations,
// say. It is called before the first Database, in TestMain or init.
func Prepare(f func(ctx context.Context, url string) error) {
	shared.Lock()
	defer shared.Unlock()
	shared.prepare = f
}

// Database gives the URL of a fresh database, dropped when the test ends. A machine that cannot run PostgreSQL fails
// the test with a sentence that says what to install.
func Database(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	name := "onceward_" + random()
	server := os.Getenv("ONCEWARD_TEST_POSTGRES")
	from := ""
	if server == "" {
		c, err := process(ctx)
		if err != nil {
			t.Fatalf("this test needs PostgreSQL: %v", err)
		}
		if server = c.URL("postgres"); shared.prepared {
			from = " STRATEGY file_copy TEMPLATE " + template // two thirds of what it costs through the log, where nothing is flushed
		}
	}
	db, err := withDatabase(server, name)
	if err != nil {
		t.Fatalf("ONCEWARD_TEST_POSTGRES: %v", err)
	}
	if err := create(ctx, server, name, from); err != nil {
		t.Fatalf("make a database for the test: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := execOn(ctx, server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Logf("drop the test's database: %v", err)
		}
	})
	return db
}

// process gives the cluster that all tests of this process share, its template made.
func process(ctx context.Context) (*Cluster, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster != nil || shared.err != nil {
		return shared.cluster, shared.err
	}
	c, err := Start(ctx, Options{Dir: Memory()})
	if err == nil && shared.prepare != nil {
		err = makeTemplate(ctx, c, shared.prepare)
		shared.prepared = err == nil
	}
	shared.cluster, shared.err = c, err
	return c, err
}

func makeTemplate(ctx context.Context, c *Cluster, prepare func(context.Context, string) error) error {
	if err := execOn(ctx, c.URL("postgres"), "CREATE DATABASE "+template); err != nil {
		return err
	}
	if err := prepare(ctx, c.URL(template)); err != nil {
		return fmt.Errorf("make the template: %w", err)
	}
	return execOn(ctx, c.URL("postgres"), "ALTER DATABASE "+template+" WITH IS_TEMPLATE true ALLOW_CONNECTIONS false")
}
