package postgres

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// pinned gives a store whose database can clean up nothing: somebody keeps a snapshot open.
func pinned(t *testing.T) *DB {
	t.Helper()
	url := pgtest.Database(t)
	db := openAt(t, url)
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.WithoutCancel(t.Context())) })
	if _, err := c.Exec(t.Context(), "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM messages"); err != nil {
		t.Fatal(err)
	}
	return db
}

// buffers gives how many pages a statement touches in looking for messages. What it does is undone.
func buffers(t *testing.T, db *DB, sql string, args ...any) float64 {
	t.Helper()
	tx, err := db.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.WithoutCancel(t.Context()))
	var out []byte
	if err := tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+sql, append([]any{pgx.QueryExecModeExec}, args...)...).Scan(&out); err != nil {
		t.Fatal(err)
	}
	var p []struct{ Plan map[string]any }
	if err := json.Unmarshal(out, &p); err != nil {
		t.Fatal(err)
	}
	return scanned(p[0].Plan)
}

func scanned(plan map[string]any) (n float64) {
	if i := plan["Index Name"]; i == "messages_group" || i == "messages_of_queue" || plan["Parent Relationship"] != "Outer" && i == "messages_pkey" {
		n += plan["Shared Hit Blocks"].(float64) + plan["Shared Read Blocks"].(float64)
	}
	below, _ := plan["Plans"].([]any)
	for _, p := range below {
		n += scanned(p.(map[string]any))
	}
	return n
}

// A receive of groups does not walk over what was consumed behind an open snapshot, be a group drained each time or never.
func TestReceiveGroupsBehindASnapshot(t *testing.T) {
	t.Parallel()
	db := pinned(t)
	q := make1(t, db, "jobs")
	backlog := make([]queue.Publish, 300)
	for i := range backlog {
		backlog[i] = queue.Publish{Queue: "jobs", Group: "never empty"}
	}
	publish(t, db, backlog...)
	look := func() float64 {
		return buffers(t, db, receiveGroupSQL, q.ID, 40, 60.0, 4, make([]time.Time, 10), 0, time.Time{})
	}
	var first float64
	for round := range 41 {
		items := make([]queue.Publish, 100)
		for i := range items {
			items[i] = queue.Publish{Queue: "jobs", Group: []string{"a", "b", "c", "never empty"}[i%4]}
		}
		publish(t, db, items...)
		if pages := look(); round == 4 {
			first = pages
		} else if round == 40 && pages > 2*first {
			t.Errorf("a receive touches %v pages after 400 messages and %v after 4,000", first, pages)
		} else if round%10 == 0 {
			t.Log(round, pages)
		}
		for left := 100; left > 0; {
			got := receive(t, db, "jobs", min(left, 50))
			left -= len(got)
			ack(t, db, got)
		}
	}
}

// Nor does a take of deliveries.
func TestTakeBehindASnapshot(t *testing.T) {
	t.Parallel()
	db := pinned(t)
	hook(t, db, func(e *webhook.Endpoint) { e.MaxInFlight, e.Timeout = 1000, time.Minute })
	look := func() float64 {
		return buffers(t, db, takeMessagesSQL, 50, 50, takeQuantum, 1000, time.Time{})
	}
	var first float64
	for round := range 20 {
		events := make([]webhook.NewEvent, 50)
		for i := range events {
			events[i] = news(int64(round*50 + i))
		}
		if _, err := db.Send(t.Context(), events...); err != nil {
			t.Fatal(err)
		}
		if last := look(); round == 1 {
			first = last
		} else if round == 19 && last > 1.5*first {
			t.Errorf("a take touches %v pages after 50 deliveries and %v after 950", first, last)
		} else if round == 19 {
			t.Logf("pages: %v and %v", first, last)
		}
		for left := 50; left > 0; {
			k, err := db.TakeDeliveries(t.Context(), webhook.Take{Owner: "w", Max: left, Slack: time.Minute})
			if err != nil || len(k.Jobs) == 0 {
				t.Fatal(err, k)
			}
			var out []webhook.Outcome
			for i := range k.Jobs {
				out = append(out, webhook.Outcome{Job: &k.Jobs[i], Kind: ledger.Succeeded, Result: webhook.WasDelivered})
			}
			if _, err := db.SettleDeliveries(t.Context(), out...); err != nil {
				t.Fatal(err)
			}
			left -= len(k.Jobs)
		}
	}
}

// What is due before what was consumed last is received at once: a slow transaction's publish, a lease that ran out, a message given back.
func TestReceiveBehindTheMarkOfAGroup(t *testing.T) {
	t.Parallel()
	db := open(t)
	make1(t, db, "jobs")
	consume := func() {
		publish(t, db, queue.Publish{Queue: "jobs", Group: "a"})
		ack(t, db, receive(t, db, "jobs", 1))
		receive(t, db, "jobs", 1) // sees that nothing is left
	}
	want := func(what string, n int) []queue.Message {
		t.Helper()
		got := receive(t, db, "jobs", 10)
		if len(got) != n {
			t.Errorf("%s: received %d, want %d", what, len(got), n)
		}
		return got
	}
	consume()
	err := db.in(t.Context(), func(ctx context.Context, tx *txn) error {
		consume()
		_, err := db.Publish(ctx, queue.Publish{Project: 1, Queue: "jobs", Group: "a", Body: []byte(`1`)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slow := want("published by a transaction that began before", 1)
	if _, err := db.Settle(t.Context(), queue.Settle{Verb: queue.Extend, Project: 1, Queue: "jobs", ID: slow[0].ID, Lease: slow[0].Lease}); err != nil {
		t.Fatal(err)
	}
	slow = want("a lease made over", 1)
	exec(t, db, "UPDATE messages SET vis = now() - interval '5 s' WHERE id = $1", slow[0].ID)
	var late []queue.Message
	for end := time.Now().Add(15 * time.Second); len(late) == 0; { // found by the next full look: no lease ends in the past by itself
		if time.Now().After(end) {
			t.Fatal("a lease that ran out long ago is not found")
		}
		late = receive(t, db, "jobs", 10)
	}
	if _, err := db.Settle(t.Context(), queue.Settle{Verb: queue.Release, Project: 1, Queue: "jobs", ID: late[0].ID, Lease: late[0].Lease}); err != nil {
		t.Fatal(err)
	}
	want("given back", 1)
	if wrong, err := groupsWrong(t.Context(), db); err != nil || len(wrong) > 0 {
		t.Error(wrong, err)
	}
}

// A mark that passes by a message, which nothing should bring about, is mended by the sweep.
func TestSweepMendsAMark(t *testing.T) {
	t.Parallel()
	db := open(t)
	make1(t, db, "jobs")
	publish(t, db, queue.Publish{Queue: "jobs", Group: "a"}, queue.Publish{Queue: "jobs", Group: "b"})
	exec(t, db, "UPDATE groups SET low = 'infinity', next_at = now()")
	if got := receive(t, db, "jobs", 10); len(got) != 0 {
		t.Fatalf("received %d by a mark that passes them by", len(got))
	}
	exec(t, db, "UPDATE groups SET low = 'infinity', next_at = now()")
	sweepAll(t, db, 100)
	if got := receive(t, db, "jobs", 10); len(got) != 2 {
		t.Errorf("received %d, want 2", len(got))
	}
}

// Where rows take long to count the kept counts answer, and the look for the oldest begins where it was.
func TestStatsBehindASnapshot(t *testing.T) {
	t.Parallel()
	db := pinned(t)
	q := make1(t, db, "jobs")
	early := publish(t, db, queue.Publish{Queue: "jobs", Delay: time.Hour})
	for range 20 {
		publish(t, db, make100("jobs")...)
		ack(t, db, receive(t, db, "jobs", 100))
	}
	exec(t, db, "DELETE FROM messages WHERE id = $1", early[0].ID)
	exec(t, db, "DELETE FROM bodies WHERE id = $1", early[0].ID)
	live := publish(t, db, make100("jobs")...)
	for range 2 {
		db.oldest.saw(q.ID, live[0].ID, time.Minute)
	}
	stats := func(messages, flying int64) {
		t.Helper()
		s, err := db.QueueStats(t.Context(), 1, "jobs")
		if err != nil || s.Messages != messages || s.InFlight != flying || s.Available != messages-flying || (s.OldestAge > 0) != (messages > 0) {
			t.Errorf("counts %+v, %v: want %d messages and %d in flight", s, err, messages, flying)
		}
	}
	stats(100, 0)
	got := receive(t, db, "jobs", 60)
	stats(100, 60)
	ack(t, db, got)
	stats(40, 0)
	if _, full := db.oldest.of(q.ID); full {
		t.Error("each look is a full one")
	}
	if a, b := buffers(t, db, statsSQL, q.ID), buffers(t, db, statsOldestSQL, q.ID, live[60].ID); b > max(10, a/3) { // where the index was cleaned meanwhile both are cheap
		t.Errorf("%v pages, and from the oldest on %v", a, b)
	}
	db.oldest.move(q.ID, live[99].ID+1) // as if all but a latecomer had been consumed
	stats(40, 0)
}

func make100(name string) []queue.Publish {
	items := make([]queue.Publish, 100)
	for i := range items {
		items[i] = queue.Publish{Queue: name}
	}
	return items
}

func ack(t testing.TB, db *DB, got []queue.Message) {
	t.Helper()
	acts := make([]queue.Settle, len(got))
	for i, m := range got {
		acts[i] = queue.Settle{Verb: queue.Ack, Project: 1, Queue: m.Queue, ID: m.ID, Lease: m.Lease}
	}
	out, err := db.Settle(t.Context(), acts...)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range out {
		if s.Err != nil || !s.Applied {
			t.Fatal(s)
		}
	}
}
