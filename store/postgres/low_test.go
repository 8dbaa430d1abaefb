package postgres

import (
	"context"
	"errors"
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

func dueAt(at time.Time, due ...time.Duration) (out []received) {
	for _, d := range due {
		out = append(out, received{Message: queue.Message{Row: queue.Row{Priority: 5, ReceivedAt: at}}, due: at.Add(d)})
	}
	return out
}

// slow has a full look take so long, twice: from now on looks begin at the mark.
func (l *dueMarks) slow(q int64, took time.Duration, got []received) {
	l.least = time.Millisecond
	for range 2 {
		l.saw(q, inFull, took, got, len(got))
	}
}

// A receive begins at the mark only where full looks are slow; how far behind it goes by how long the looks have rested that go as far.
func TestDueMarks(t *testing.T) {
	t.Parallel()
	var l dueMarks
	due := time.Now()
	got := dueAt(due, 0)
	l.least = time.Millisecond
	reaches := func(want reach, why string) {
		t.Helper()
		if _, to := l.of(7, false); to != want {
			t.Errorf("%s: a look reaches back %d, want %d", why, to, want)
		}
	}
	l.saw(7, inFull, time.Millisecond, got, 1)
	reaches(inFull, "looks are quick")
	l.saw(7, inFull, 50*time.Millisecond, got, 1)
	reaches(inFull, "one look was slow")
	l.saw(7, inFull, 20*time.Millisecond+100*dueEach, dueAt(due, make([]time.Duration, 100)...), 100)
	low, to := l.of(7, false)
	if to != inFull-1 || !low[4].Equal(due.Add(-dueSteps[to])) || !low[0].Equal(low[4]) || !low[9].IsZero() {
		t.Errorf("two looks were slow: a look reaches back %d, from %v", to, low)
	}
	for k := range inFull {
		for range 2 {
			l.saw(7, k, 2*time.Millisecond, nil, 1)
		}
	}
	reaches(0, "all looked a moment ago")
	l.marks[7].behind[2].looked = due.Add(-100 * time.Millisecond)
	reaches(2, "the third has rested")
	reaches(0, "it was made by another")
	if _, to := l.of(7, true); to != inFull {
		t.Errorf("a look from the mark found nothing: it reaches back %d, want a full one", to)
	}
	l.saw(7, inFull, time.Millisecond, nil, 1)
	reaches(inFull, "looks are quick again")
}

// A look that was filled has seen all of the priorities before the last that it reached; one that was not has seen all that was due. Where priorities took turns with groups, nothing is
// known of those that nothing was found of.
func TestDueMarksPassPriorities(t *testing.T) {
	t.Parallel()
	at := time.Now()
	for _, c := range []struct {
		name              string
		limit             int
		high, found, lows time.Duration // behind at
	}{
		{"filled", 1, 0, time.Minute, time.Hour},
		{"not filled", 2, 0, 0, 0},
		{"in turn", 0, time.Hour, time.Minute, time.Hour},
	} {
		m := &dueMark{}
		for i := range m.due {
			m.due[i] = at.Add(-time.Hour)
		}
		m.passed(time.Now(), dueAt(at, -time.Minute), c.limit)
		for i, d := range m.due {
			want := c.high
			if i == 4 {
				want = c.found
			} else if i > 4 {
				want = c.lows
			}
			if d = at.Add(-want); !m.due[i].Equal(d) {
				t.Errorf("%s: the mark of priority %d is %v behind, want %v", c.name, 9-i, at.Sub(m.due[i]), want)
			}
		}
		was := m.due
		m.passed(time.Now(), nil, 5)
		if m.due != was {
			t.Errorf("%s: a look that found nothing moved the marks", c.name)
		}
	}
}

// A look that was filled behind the mark has found some of many: the mark comes back to them, and no look that began before moves it on. One that is ahead of the database's clock, which was
// set back, comes back to that.
func TestDueMarksComeBack(t *testing.T) {
	t.Parallel()
	began := time.Now()
	m := &dueMark{}
	m.passed(began, dueAt(began, 0), 2)
	marks := func(want time.Time, why string) {
		t.Helper()
		if got := m.due[4]; !got.Equal(want) {
			t.Errorf("%s: the mark is %v off", why, got.Sub(want))
		}
	}
	marks(began, "all is received")
	behind := began.Add(-time.Minute)
	m.passed(time.Now(), dueAt(began, -time.Minute), 1)
	marks(behind, "a filled look found what was due a minute before")
	m.passed(began.Add(-time.Millisecond), dueAt(began.Add(time.Second), 0), 2)
	marks(behind, "a look that began before ended after it")
	now := time.Now()
	m.passed(now, dueAt(now, 0), 2)
	marks(now, "a look after it left nothing")
	m.passed(time.Now(), dueAt(now.Add(-time.Hour), -time.Second), 2)
	marks(now.Add(-time.Hour), "the clock was set back by an hour")
	if m.due[0] != m.due[4] {
		t.Errorf("the clock was set back: the mark of another priority is %v", m.due[0])
	}
}

// What a transaction received that may yet be undone moves no mark on: its messages would be behind it.
func TestDueMarksOfATransaction(t *testing.T) {
	t.Parallel()
	db := open(t)
	q := make1(t, db, "jobs")
	publish(t, db, queue.Publish{Queue: "jobs"})
	db.lows.slow(q.ID, 50*time.Millisecond, dueAt(time.Now().Add(-time.Hour), 0))
	was := db.lows.marks[q.ID].due
	undone := errors.New("undone")
	err := db.in(t.Context(), func(ctx context.Context, _ *txn) error {
		if got, err := db.Receive(ctx, queue.Receive{Project: 1, Queue: "jobs", Max: 10, Visibility: time.Minute}); err != nil || len(got) != 1 {
			t.Errorf("received %d, %v", len(got), err)
		}
		return undone
	})
	if !errors.Is(err, undone) || db.lows.marks[q.ID].due != was {
		t.Errorf("%v; the marks were moved by what was undone", err)
	}
}

// What is behind a mark is looked for in full again and again, however slow that is and however much is before it, by one at a time; and a mark that is ahead of the clock, which was set back, comes back with it.
func TestDueMarksAreLookedBehind(t *testing.T) {
	t.Parallel()
	var l dueMarks
	due := time.Now()
	l.slow(7, 150*time.Millisecond, dueAt(due, 0))
	l.marks[7].looked = time.Now().Add(-14 * time.Second)
	if _, to := l.of(7, false); to == inFull {
		t.Error("a look of 150 ms is made in full again after 14 s")
	}
	l.marks[7].looked = time.Now().Add(-16 * time.Second)
	if _, to := l.of(7, false); to != inFull {
		t.Error("16 s after the last full look the next begins at the mark")
	}
	if _, to := l.of(7, false); to == inFull {
		t.Error("two at once look in full")
	}
	if _, to := l.near(7); to != 0 {
		t.Errorf("a look that others wait for reaches back %d", to)
	}
	l.saw(7, inFull, 150*time.Millisecond, dueAt(due, -time.Hour), 1)
	if low, to := l.of(7, false); to == inFull || !low[4].Equal(due.Add(-time.Hour-dueSteps[to])) {
		t.Errorf("a full look found what was due an hour before the mark: the next reaches back %d, from %v, an hour before is %v", to, low[4], due.Add(-time.Hour))
	}
}

// Receives that wait and find nothing, of which there are many where several wait for each message, do not look in full where that is slow; what is behind
// the mark is found by a step that reaches it, and at once by who does not wait.
func TestEmptyReceivesRest(t *testing.T) {
	t.Parallel()
	db := open(t)
	q := make1(t, db, "jobs")
	publish(t, db, queue.Publish{Queue: "jobs"})
	got := receive(t, db, "jobs", 1)
	ack(t, db, got)
	waits := func() []queue.Message {
		m, err := db.Receive(t.Context(), queue.Receive{Project: 1, Queue: "jobs", Max: 1, Visibility: time.Minute, Waits: true})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	rested := func(k reach, ago time.Duration) {
		l := &db.lows.marks[q.ID].behind[k]
		l.looked, l.took, l.last = time.Now().Add(-ago), time.Hour, time.Hour
		if ago > 0 {
			l.took = 0
		}
	}
	publish(t, db, queue.Publish{Queue: "jobs"})
	db.lows.slow(q.ID, 50*time.Millisecond, dueAt(time.Now(), 0))
	db.lows.marks[q.ID].passed(time.Now(), dueAt(time.Now().Add(2*time.Second), 0), 2) // marks two seconds after it
	for k := range inFull {
		rested(k, 0)
	}
	looked := db.lows.marks[q.ID].looked
	if got := waits(); len(got) != 0 || db.lows.marks[q.ID].looked != looked {
		t.Errorf("received %d, and looked in full just after a slow full look", len(got))
	}
	rested(2, time.Minute)
	if got := waits(); len(got) != 1 || db.lows.marks[q.ID].looked != looked {
		t.Errorf("received %d of one that a step of %v reaches; looked in full: %v", len(got), dueSteps[2], db.lows.marks[q.ID].looked != looked)
	}
	publish(t, db, queue.Publish{Queue: "jobs"})
	db.lows.marks[q.ID].passed(time.Now(), dueAt(time.Now().Add(2*time.Second), 0), 2)
	for k := range inFull {
		rested(k, 0)
	}
	if got := receive(t, db, "jobs", 1); len(got) != 1 {
		t.Errorf("who does not wait received %d of one behind the mark", len(got))
	}
}
