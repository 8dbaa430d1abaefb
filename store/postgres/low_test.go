package postgres

import (
	"testing"
	"time"

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
