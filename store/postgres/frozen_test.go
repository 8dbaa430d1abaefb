package postgres

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/queue"
)

// H-Q24: a server that is frozen or cut off inside a transaction keeps what it has locked for some seconds, not for as long as PostgreSQL
// takes its connection for alive.
func TestFrozenInATransaction(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	frozen, other := openAt(t, url), openAt(t, url)
	make1(t, frozen, "jobs")
	publish(t, frozen, queue.Publish{Queue: "jobs"})
	tx, err := frozen.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), "SELECT id FROM messages FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, other, "jobs", 1); len(got) > 0 {
		t.Fatal("received what another transaction has locked")
	}
	eventually(t, "the other server receives it", func() bool { return len(receive(t, other, "jobs", 1)) == 1 })
}

// A database that does not answer keeps a call for so long and no longer: with all its tries, and with the wait for a connection where calls before it have them all.
func TestCallsToAFrozenDatabaseEnd(t *testing.T) {
	t.Parallel()
	db := openAt(t, pgtest.Database(t)+"&pool_max_conns=4")
	make1(t, db, "jobs")
	db.patience = 300 * time.Millisecond
	for range db.pool.Config().MaxConns {
		c, err := db.pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Release()
	}
	for name, call := range map[string]func() error{
		"a statement": func() error {
			_, err := db.Receive(t.Context(), queue.Receive{Project: 1, Queue: "jobs", Max: 1})
			return err
		},
		"a transaction": func() error { _, err := db.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: "other"}); return err },
	} {
		began := time.Now()
		err := call()
		if took := time.Since(began); fault.CodeOf(err) != fault.Unavailable || took > 20*db.patience {
			t.Errorf("%s: %v after %v, want UNAVAILABLE after %v", name, err, took, db.patience)
		}
	}
}

// A server that was frozen inside a transaction, and woke after the database gave it up, runs it again: it left nothing.
func TestWokenInATransaction(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	frozen, other := openAt(t, url), openAt(t, url)
	make1(t, frozen, "jobs")
	tries := 0
	err := frozen.in(t.Context(), func(ctx context.Context, tx *txn) error {
		if tries++; tries == 1 {
			if _, err := tx.Exec(ctx, "SET LOCAL idle_in_transaction_session_timeout = '50ms'"); err != nil {
				return err
			}
			eventually(t, "the database gives it up", func() bool {
				return count(t, other, "SELECT count(*) FROM pg_stat_activity WHERE pid = $1", tx.PgConn().PID()) == 0
			})
		}
		_, err := tx.Exec(ctx, "UPDATE queues SET paused = true WHERE name = 'jobs'")
		return err
	})
	if err != nil || tries != 2 {
		t.Errorf("after %d tries: %v", tries, err)
	}
}

// The gap between takes is one of this process's time: a clock that is set back makes none of an hour.
func TestTakeGapOverAClockSetBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g gather
		for n, want := range map[int]time.Duration{1: takeStep, 2: 2 * takeStep, 20: takeGap} {
			if g.took(n, 100); g.left() != want {
				t.Errorf("a take after one that took %d waits %v, want %v", n, g.left(), want)
			}
		}
		g.next.Store(time.Now().Add(time.Hour).UnixNano())
		if d := g.left(); d > takeGap {
			t.Errorf("with the clock set back by an hour a take waits %v", d)
		}
	})
}
