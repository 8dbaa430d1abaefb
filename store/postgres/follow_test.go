package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

// claimWith claims a key in SQL with the message that is to carry it, and gives the fence.
func claimWith(t testing.TB, db *DB, tx pgx.Tx, key string, m queue.Message) (fence int64) {
	t.Helper()
	var verdict string
	err := tx.QueryRow(t.Context(), "SELECT verdict, fence FROM onceward_claim('s', $1, queue => 'jobs', receipt_handle => $2)", key, ids.New(db.Secret()).Receipt(1, "jobs", m.ID, m.Lease)).Scan(&verdict, &fence)
	if err != nil || verdict != "granted" {
		t.Fatalf("%s, %v", verdict, err)
	}
	return fence
}

// A transaction that has claimed a key with its message, begun and completed it, and stays open: nobody who works with the message, its group or its queue waits for it.
// Its rollback leaves nothing; its commit is followed by the next sweep.
func TestOpenClaimWithItsMessage(t *testing.T) {
	t.Parallel()
	for _, group := range []string{"", "g"} {
		db, at := withFunctions(t)
		server, ctx := impatient(t, at), t.Context()
		make1(t, db, "jobs")
		pool := caller(t, at, 1)
		publish(t, db, queue.Publish{Queue: "jobs", Group: group})
		m := receive(t, db, "jobs", 1)[0]
		for _, commits := range []bool{false, true} {
			tx := begun(t, pool)
			fence := claimWith(t, db, tx, "k", m)
			for _, word := range []string{"onceward_begin('s', 'k', $1)", "onceward_complete('s', 'k', $1, settle => true)"} {
				if _, err := tx.Exec(ctx, "SELECT "+word, fence); err != nil {
					t.Fatal(err)
				}
			}
			publish(t, server, queue.Publish{Queue: "jobs", Group: group})
			ack(t, server, receive(t, server, "jobs", 10))
			extended, err := server.Settle(ctx, queue.Settle{Verb: queue.Extend, Project: 1, Queue: "jobs", ID: m.ID, Lease: m.Lease, Visibility: time.Minute})
			if err != nil || !extended[0].Applied {
				t.Errorf("its lease beside the open transaction: %+v, %v", extended, err)
			}
			if _, err := server.Sweep(ctx, 100); err != nil {
				t.Errorf("a sweep beside the open transaction: %v", err)
			}
			if !commits {
				if err := tx.Rollback(ctx); err != nil {
					t.Fatal(err)
				}
				continue
			}
			commit(t, tx)
		}
		if _, err := server.Sweep(ctx, 100); err != nil {
			t.Fatal(err)
		}
		if n := count(t, db, "SELECT (SELECT count(*) FROM messages) + (SELECT count(*) FROM follows)"); n != 0 {
			t.Errorf("group %q: %d messages and lines are left", group, n)
		}
		if c, _, err := db.FindClaim(ctx, 1, "s", "k"); err != nil || c.State != ledger.Done {
			t.Errorf("%s, %v", c.State, err)
		}
		noGroupWrong(t, db)
	}
}

// A message that is dead-lettered between the commit of its key's claim and the sweep carries the key all the same: it closes it, and its redrive opens it.
func TestDeadBeforeItFollows(t *testing.T) {
	t.Parallel()
	db, at := withFunctions(t)
	ctx := t.Context()
	make1(t, db, "jobs")
	publish(t, db, queue.Publish{Queue: "jobs"})
	m := receive(t, db, "jobs", 1)[0]
	tx := begun(t, caller(t, at, 1))
	claimWith(t, db, tx, "k", m)
	commit(t, tx)
	if out, err := db.Settle(ctx, queue.Settle{Verb: queue.Nack, Project: 1, Queue: "jobs", ID: m.ID, Lease: m.Lease, DeadLetter: true, Error: "no more"}); err != nil || !out[0].Applied {
		t.Fatalf("%+v, %v", out, err)
	}
	if _, err := db.Sweep(ctx, 100); err != nil {
		t.Fatal(err)
	}
	if c, _, err := db.FindClaim(ctx, 1, "s", "k"); err != nil || c.State != ledger.Stuck || c.LastError != "no more" {
		t.Errorf("the dead letter left the key %s (%s), %v", c.State, c.LastError, err)
	}
	if id := query[int64](t, db, "SELECT coalesce(m.claim_id, 0) FROM messages m"); id == 0 {
		t.Error("the dead letter carries no key")
	}
}

// Only the newest receipt has a message carry a key, a made-up one is refused, and what a claim is told of a message that is another's changes nothing.
func TestReceiptsInSQL(t *testing.T) {
	t.Parallel()
	db, _ := withFunctions(t)
	make1(t, db, "jobs")
	publish(t, db, queue.Publish{Queue: "jobs"})
	m := receive(t, db, "jobs", 1)[0]
	codec := ids.New(db.Secret())
	good := codec.Receipt(1, "jobs", m.ID, m.Lease)
	for call, want := range map[string]string{
		"queue => 'jobs'": "OW400", "receipt_handle => '" + good + "'": "OW400", "queue => 'other', receipt_handle => '" + good + "'": "OW400",
		"queue => 'jobs', receipt_handle => '" + good[:len(good)-1] + "'": "OW400", "queue => 'jobs', receipt_handle => ''": "OW400",
		"queue => 'jobs', receipt_handle => 'rct_zzzzzzzzzzzzzzzzzzzzzzzzzzzzz'": "OW400", "queue => 'jobs', receipt_handle => '" + codec.Receipt(2, "jobs", m.ID, m.Lease) + "'": "OW400",
		"queue => 'jobs', receipt_handle => '" + codec.Receipt(1, "jobs", m.ID+1, 1) + "'": "OW404", "queue => 'jobs', receipt_handle => '" + codec.Receipt(1, "jobs", 1<<63-1, 1<<31-1) + "'": "OW404",
	} {
		if _, err := db.pool.Exec(t.Context(), "SELECT onceward_claim('s', 'k', "+call+")"); sqlState(err) != want {
			t.Errorf("%s: %v, want %s", call, err, want)
		}
	}
	old := codec.Receipt(1, "jobs", m.ID, m.Lease+7)
	if v := query[string](t, db, "SELECT verdict FROM onceward_claim('s', 'k', queue => 'jobs', receipt_handle => '"+old+"')"); v != "busy" {
		t.Errorf("by another lease: %s", v)
	}
	if n := count(t, db, "SELECT (SELECT count(*) FROM claims) + (SELECT count(*) FROM follows)"); n != 0 {
		t.Errorf("%d rows are there", n)
	}
	if v := query[string](t, db, "SELECT verdict FROM onceward_claim('s', 'k', queue => 'jobs', receipt_handle => '"+good+"')"); v != "granted" {
		t.Errorf("by the newest receipt: %s", v)
	}
}

// A key in a caller's open transaction, whose message is nacked, and another whose last lease is over: nobody's acts wait for it but that nack, for a bounded time, and the sweep passes it by.
func TestOpenKeyStopsNoSettle(t *testing.T) {
	t.Parallel()
	db, at := withFunctions(t)
	ctx := t.Context()
	if _, err := db.CreateQueue(ctx, queue.Spec{Project: 1, Name: "jobs", MaxReceives: new(1)}); err != nil {
		t.Fatal(err)
	}
	carried := map[string]queue.Message{}
	for _, key := range []string{"nacked", "last", "free"} {
		publish(t, db, queue.Publish{Queue: "jobs"})
		m := receive(t, db, "jobs", 1)[0]
		a, err := db.Claim(ctx, ledger.Call{Project: 1, Scope: "s", Key: key, Policy: ledger.Idempotent, MaxTries: 5, MessageID: m.ID, Lease: m.Lease, Grant: ledger.Grant{GrantID: key, Lease: time.Minute}})
		if err != nil || a[0].Verdict != ledger.Granted {
			t.Fatalf("%+v, %v", a, err)
		}
		carried[key] = m
	}
	tx := begun(t, caller(t, at, 1))
	for _, key := range []string{"nacked", "last"} {
		if _, err := tx.Exec(ctx, "SELECT onceward_claim('s', $1)", key); err != nil {
			t.Fatal(err)
		}
	}
	nack := func(key string) queue.Settle {
		return queue.Settle{Verb: queue.Nack, Project: 1, Queue: "jobs", ID: carried[key].ID, Lease: carried[key].Lease, DeadLetter: true}
	}
	waiting := make(chan error, 1)
	go func() {
		out, err := db.Settle(ctx, nack("nacked"))
		waiting <- errors.Join(err, out[0].Err)
	}()
	blocked(t, db)
	for range 3 {
		publish(t, db, queue.Publish{Queue: "jobs"})
		ack(t, db, receive(t, db, "jobs", 1))
	}
	exec(t, db, "UPDATE messages SET vis = now() - interval '1 s' WHERE id IN ($1, $2)", carried["last"].ID, carried["free"].ID)
	if _, err := db.Sweep(ctx, 100); err != nil {
		t.Errorf("a sweep beside the open transaction: %v", err)
	}
	if len(waiting) > 0 {
		t.Error("nobody waits for the key any more: the others were not beside one who does")
	}
	if n := count(t, db, "SELECT count(*) FROM messages WHERE dead_at IS NOT NULL"); n != 1 {
		t.Errorf("%d of the two messages whose leases are over are dead letters, want that whose key is free", n)
	}
	if err := <-waiting; fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("the nack: %v, want %s", err, fault.Unavailable)
	}
	commit(t, tx)
	if out, err := db.Settle(ctx, nack("nacked")); err != nil || !out[0].Applied {
		t.Errorf("after the commit: %+v, %v", out, err)
	}
	if _, err := db.Sweep(ctx, 100); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, "SELECT count(*) FROM messages WHERE dead_at IS NOT NULL"); n != 3 {
		t.Errorf("%d dead letters, want all three", n)
	}
}
