package postgres

import (
	"testing"
	"time"

	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/queue"
)

// A search for leases that ran out begins where one that was complete ended, only while full ones are slow.
func TestLeaseMark(t *testing.T) {
	t.Parallel()
	var l leaseMark
	now := time.Now()
	for _, took := range []time.Duration{time.Millisecond, 50 * time.Millisecond} {
		l.saw(true, true, took, now)
		if _, full := l.of(); !full {
			t.Errorf("after a look of %v: want a full one", took)
		}
	}
	l.saw(true, true, 50*time.Millisecond, now)
	l.saw(false, false, 50*time.Millisecond, now.Add(time.Minute))
	if from, full := l.of(); full || !from.Equal(now.Add(-lowTrail)) {
		t.Errorf("two looks were slow: full %v from %v", full, from)
	}
}

// The search is made in full every few seconds, however slow that is: a lease whose end was committed late is behind the mark. One in full brings the mark back to what it left.
func TestLeasesAreSearchedInFull(t *testing.T) {
	t.Parallel()
	var l leaseMark
	now := time.Now()
	for range 2 {
		l.saw(true, true, 150*time.Millisecond, now)
	}
	l.looked = time.Now().Add(-4 * time.Second)
	if _, full := l.of(); full {
		t.Error("a search of 150 ms is made in full again after 4 s")
	}
	l.looked = time.Now().Add(-6 * time.Second)
	if _, full := l.of(); !full {
		t.Error("6 s after the last full search the next begins at the mark")
	}
	left := now.Add(-time.Minute)
	l.saw(true, true, 150*time.Millisecond, left)
	if from, full := l.of(); full || from.After(left) {
		t.Errorf("after a full search that left a lease of %v: full %v from %v", left, full, from)
	}
}

// A lease that ran out, whose row somebody had locked when it was searched for, is given back once it no longer is: the mark did not pass it.
func TestLapseOfALockedMessage(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	frozen, other := openAt(t, url), openAt(t, url)
	make1(t, frozen, "jobs")
	for _, g := range []string{"a", "b"} {
		publish(t, frozen, queue.Publish{Queue: "jobs", Group: g})
	}
	got := receive(t, frozen, "jobs", 2)
	if len(got) != 2 {
		t.Fatalf("received %d of 2", len(got))
	}
	exec(t, frozen, "UPDATE messages SET vis = now() - interval '5 s'")
	for range 2 { // from now on it begins at the mark
		other.leases.saw(true, true, time.Second, time.Time{})
	}
	tx, err := frozen.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), "SELECT id FROM messages WHERE id = $1 FOR UPDATE", got[0].ID); err != nil {
		t.Fatal(err)
	}
	lapsed := func() int {
		n, err := other.lapsed(t.Context(), 500)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := lapsed(); n != 1 {
		t.Fatalf("gave back %d of two leases, one of them locked; want 1", n)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := lapsed(); n != 1 {
		t.Errorf("gave back %d leases once the lock of one was gone, want 1", n)
	}
	if n := lapsed(); n != 0 || other.leases.from.Before(time.Now().Add(-lowTrail-time.Minute)) {
		t.Errorf("gave back %d, and searches from %v: want 0, from a moment ago", n, other.leases.from)
	}
}

// A receive begins at the mark only where full looks are slow, and never answers nothing because of it.
func TestLowMarks(t *testing.T) {
	t.Parallel()
	var l lowMarks
	due := time.Now()
	got := []received{{Message: queue.Message{Row: queue.Row{Priority: 9}}, due: due}}
	full := func(again bool) bool { _, f := l.of(7, again); return f }

	l.saw(7, true, time.Millisecond, got)
	if !full(false) {
		t.Error("looks are quick: want a full one")
	}
	l.saw(7, true, 50*time.Millisecond, got)
	if !full(false) {
		t.Error("one look was slow: want a full one")
	}
	l.saw(7, true, 50*time.Millisecond, got)
	low, f := l.of(7, false)
	if f || !low[0].Equal(due.Add(-lowTrail)) || !low[9].IsZero() {
		t.Errorf("two looks were slow: full %v from %v", f, low)
	}
	if !full(true) {
		t.Error("a look from the mark found nothing: want a full one")
	}
	l.saw(7, true, time.Millisecond, nil)
	if !full(false) {
		t.Error("looks are quick again: want a full one")
	}
}

// What is behind a mark is looked for every few seconds, however slow that is and however much is before it; and a mark that is ahead of the clock, which was set back, comes back with it.
func TestLowMarksAreLookedBehind(t *testing.T) {
	t.Parallel()
	var l lowMarks
	due := time.Now()
	found := func(d time.Time) []received {
		return []received{{Message: queue.Message{Row: queue.Row{Priority: 9}}, due: d}}
	}
	for range 2 {
		l.saw(7, true, 150*time.Millisecond, found(due))
	}
	l.marks[7].looked = time.Now().Add(-4 * time.Second)
	if _, full := l.of(7, false); full {
		t.Error("a look of 150 ms is made in full again after 4 s")
	}
	l.marks[7].looked = time.Now().Add(-6 * time.Second)
	if _, full := l.of(7, false); !full {
		t.Error("6 s after the last full look the next begins at the mark")
	}
	l.saw(7, true, 150*time.Millisecond, found(due.Add(-time.Hour)))
	if low, full := l.of(7, false); full || !low[0].Equal(due.Add(-time.Hour-lowTrail)) {
		t.Errorf("a full look found what was due an hour before the mark: full %v from %v, an hour before is %v", full, low[0], due.Add(-time.Hour))
	}
	l.saw(7, true, 150*time.Millisecond, nil)
	if low, _ := l.of(7, false); low[0].IsZero() {
		t.Error("a full look that found nothing lost the mark")
	}
}

// Receives that wait and find nothing, of which there are many where several wait for each message, do not each look in full where that is slow; what is behind
// the mark is found soon, and at once by who does not wait.
func TestEmptyReceivesRest(t *testing.T) {
	t.Parallel()
	db := open(t)
	q := make1(t, db, "jobs")
	publish(t, db, queue.Publish{Queue: "jobs"})
	got := receive(t, db, "jobs", 1)
	ack(t, db, got)
	publish(t, db, queue.Publish{Queue: "jobs"})
	seen := []received{{Message: got[0], due: time.Now().Add(time.Minute)}} // a mark after it
	for range 2 {
		db.lows.saw(q.ID, true, 50*time.Millisecond, seen)
	}
	waits := func() []queue.Message {
		m, err := db.Receive(t.Context(), queue.Receive{Project: 1, Queue: "jobs", Max: 1, Visibility: time.Minute, Waits: true})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	looked := db.lows.marks[q.ID].looked
	if got := waits(); len(got) != 0 || db.lows.marks[q.ID].looked != looked {
		t.Errorf("received %d, and looked in full just after a slow full look", len(got))
	}
	db.lows.marks[q.ID].looked = looked.Add(-1100 * time.Millisecond) // twenty times the quicker of them, and more
	publish(t, db, queue.Publish{Queue: "jobs"})
	if got := waits(); len(got) != 1 {
		t.Errorf("received %d of one behind the mark once the look had rested", len(got))
	}
	for range 2 {
		db.lows.saw(q.ID, true, 50*time.Millisecond, seen)
	}
	if got := receive(t, db, "jobs", 1); len(got) != 1 {
		t.Errorf("who does not wait received %d of one behind the mark", len(got))
	}
}
