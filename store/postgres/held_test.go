package postgres

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

// keysOfJobs publishes n messages, and has a worker claim a key for each: k0, k1 and so on.
func keysOfJobs(t *testing.T, db *DB, name string, n int) {
	t.Helper()
	publish(t, db, make100(name)[:n]...)
	for i, m := range receive(t, db, name, n) {
		a, err := db.Claim(t.Context(), ledger.Call{
			Project: 1, Scope: name, Key: fmt.Sprint("k", i), Policy: ledger.Idempotent, MaxTries: 5, Grant: ledger.Grant{GrantID: fmt.Sprint(i), Lease: time.Minute},
			MessageID: m.ID, Lease: m.Lease,
		})
		if err != nil || a[0].Verdict != ledger.Granted {
			t.Fatal(a, err)
		}
	}
}

// deadJobs has n messages dead-lettered, their keys failed.
func deadJobs(t *testing.T, db *DB, name string, n int) {
	t.Helper()
	make1(t, db, name)
	keysOfJobs(t, db, name, n)
	for i := range n {
		a, err := db.SettleClaims(t.Context(), ledger.Word{Project: 1, Scope: name, Key: fmt.Sprint("k", i), Fence: 1, Kind: ledger.Permanent, Settle: true})
		if err != nil || !a[0].Applied {
			t.Fatal(a, err)
		}
	}
}

// A key is in a caller's open transaction while its message's queue is purged, or deleted: all other messages go, no other key is held up, and
// the same again after the transaction does the rest.
func TestPurgeBesideAHeldKey(t *testing.T) {
	t.Parallel()
	for verb, do := range map[string]func(ctx context.Context, db *DB) error{
		"purge":  func(ctx context.Context, db *DB) error { _, err := db.PurgeQueue(ctx, 1, "jobs"); return err },
		"delete": func(ctx context.Context, db *DB) error { return db.DeleteQueue(ctx, 1, "jobs", true) },
	} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			db, at := withFunctions(t)
			make1(t, db, "jobs")
			keysOfJobs(t, db, "jobs", 2)
			tx := begun(t, caller(t, at, 1))
			var applied bool
			if err := tx.QueryRow(t.Context(), "SELECT applied FROM onceward_complete('jobs', 'k1', 1)").Scan(&applied); err != nil || !applied {
				t.Fatal(applied, err)
			}
			done := make(chan error, 1)
			go func() { done <- do(context.WithoutCancel(t.Context()), db) }()
			eventually(t, "one is gone, or waited for", func() bool {
				return count(t, db, "SELECT count(*) FROM messages") < 2 || count(t, db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") > 0
			})
			began := time.Now()
			_, err := db.Begin(t.Context(), ledger.Beat{Project: 1, Scope: "jobs", Key: "k0", Fence: 1, Lease: time.Minute})
			if took := time.Since(began); took > 2*time.Second {
				t.Fatalf("beside the held key another was waited for %v", took)
			} else if err != nil {
				t.Fatal(err)
			}
			if err := <-done; fault.CodeOf(err) != fault.Unavailable {
				t.Errorf("with a held key: %v, want %s", err, fault.Unavailable)
			}
			if n := count(t, db, "SELECT count(*) FROM messages"); n != 1 {
				t.Errorf("%d messages are left, want the one of the held key", n)
			}
			commit(t, tx)
			if err := do(t.Context(), db); err != nil || count(t, db, "SELECT count(*) FROM messages") != 0 {
				t.Errorf("after the transaction: %v, %d messages are left", err, count(t, db, "SELECT count(*) FROM messages"))
			}
		})
	}
}

// A dead letter whose key somebody holds is not passed by: its queue's redrive goes on with it, once it is free, and other queues' go on meanwhile.
func TestRedriveBesideAHeldKey(t *testing.T) {
	t.Parallel()
	db, _ := withFunctions(t)
	var redrives []queue.Redrive
	for _, name := range []string{"first", "second"} {
		deadJobs(t, db, name, 3)
		r, err := db.StartRedrive(t.Context(), queue.RedriveCall{Project: 1, Queue: name})
		if err != nil {
			t.Fatal(err)
		}
		redrives = append(redrives, r)
	}
	release := holding(t, db, "SELECT id FROM worker_claims WHERE scope = 'first' AND key = 'k1' FOR UPDATE")
	step := func() time.Duration {
		done := make(chan time.Duration, 1)
		go func() {
			_, again, err := db.StepRedrives(context.WithoutCancel(t.Context()), 500)
			if err != nil {
				t.Error(err)
			}
			done <- again
		}()
		select {
		case again := <-done:
			return again
		case <-time.After(5 * time.Second):
			release()
			<-done
			t.Fatal("the redrives are held up by one key")
			return 0
		}
	}
	moved := func(i int) int64 {
		r, err := db.Redrive(t.Context(), 1, redrives[i].ID)
		if err != nil {
			t.Fatal(err)
		}
		return r.Moved
	}
	for range 3 {
		step()
	}
	if first, second := moved(0), moved(1); first != 1 || second != 3 {
		t.Errorf("moved %d and %d, want the 1 before the held one and the other queue's 3", first, second)
	}
	if again := step(); again < 10*time.Millisecond {
		t.Errorf("again in %v, with nothing to do until the key is free", again)
	}
	release()
	for range 3 {
		step()
	}
	r, err := db.Redrive(t.Context(), 1, redrives[0].ID)
	if err != nil || r.State != queue.Completed || r.Moved != 3 || r.Left != 0 {
		t.Errorf("once it is free: %+v, %v; want all 3 moved", r, err)
	}
}

// Those that a sweep can do nothing about, as many as it looks at, do not keep it from those that come after them.
func TestSweepGoesOnAfterHeldOnes(t *testing.T) {
	t.Parallel()
	const sooner = "UPDATE messages SET vis = now() - interval '1 minute'"
	t.Run("last tries whose keys are held", func(t *testing.T) {
		t.Parallel()
		db := open(t)
		if _, err := db.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: "jobs", MaxReceives: new(1)}); err != nil {
			t.Fatal(err)
		}
		keysOfJobs(t, db, "jobs", 3)
		exec(t, db, sooner)
		holding(t, db, "SELECT id FROM worker_claims WHERE key IN ('k0', 'k1') FOR UPDATE")
		if _, err := db.Sweep(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		if n := count(t, db, "SELECT count(*) FROM messages WHERE dead_at IS NOT NULL"); n != 1 {
			t.Errorf("%d are dead-lettered, want the one that nobody holds", n)
		}
	})
	t.Run("leases that the database refuses", func(t *testing.T) {
		t.Parallel()
		db := open(t)
		make1(t, db, "jobs")
		for range 3 {
			publish(t, db, queue.Publish{Queue: "jobs", Group: "g"})
		}
		receive(t, db, "jobs", 3)
		exec(t, db, sooner)
		exec(t, db, "CREATE TABLE bad AS SELECT id FROM messages ORDER BY id LIMIT 2")
		exec(t, db, "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a bad row' USING ERRCODE = 'check_violation'; END $$")
		for range 2 {
			exec(t, db, `DO $$ DECLARE b bigint; BEGIN DELETE FROM bad WHERE id = (SELECT min(id) FROM bad) RETURNING id INTO b;
				EXECUTE format('CREATE TRIGGER refuse%s BEFORE UPDATE ON messages FOR EACH ROW WHEN (OLD.id = %s) EXECUTE FUNCTION refuse()', b, b); END $$`)
		}
		if _, err := db.Sweep(t.Context(), 2); err == nil {
			t.Error("a sweep that could not do two of three has no error")
		}
		if n := count(t, db, "SELECT count(*) FROM messages WHERE leased"); n != 2 {
			t.Errorf("%d are leased, want the two that are refused", n)
		}
	})
}
