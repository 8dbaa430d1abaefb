package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/onceward/onceward/queue"
)

// Deltas are added up from a mark on where a fold from the first is slow; one that was committed behind it is found by the next full one, seconds later.
func TestFoldsBeginAtAMark(t *testing.T) {
	t.Parallel()
	db := open(t)
	make1(t, db, "jobs")
	publish(t, db, queue.Publish{Queue: "jobs"})
	fold := func(m *foldMark) int {
		t.Helper()
		err := db.in(t.Context(), func(ctx context.Context, _ *txn) error { return m.fold(ctx, db, countsFoldSQL) })
		if err != nil {
			t.Fatal(err)
		}
		return count(t, db, "SELECT count(*) FROM count_deltas")
	}
	m := &foldMark{through: 1 << 40}
	for range 2 {
		m.full(50 * time.Millisecond)
	}
	if from := m.from(); from != 1<<40-foldTrail {
		t.Fatalf("folds are slow and begin after %d; want the mark, and what it trails", from)
	}
	if left := fold(m); left == 0 {
		t.Error("a fold from the mark on took what is behind it")
	}
	m.looked = time.Now().Add(-6 * time.Second)
	if left := fold(m); left != 0 {
		t.Errorf("%d deltas behind the mark are left by the fold of six seconds later", left)
	}
	s := count(t, db, "SELECT sum(n) FROM counts WHERE kind = 't'")
	if s != 1 {
		t.Errorf("%d messages are counted, want 1", s)
	}
}

// Deltas that are seen are added up each second; where none are, the fold rests.
func TestFoldsRest(t *testing.T) {
	t.Parallel()
	db := open(t)
	make1(t, db, "jobs")
	swept := func(ago time.Duration) (folded bool) {
		t.Helper()
		was := time.Now().Add(-ago)
		db.sweeps.folded = was
		if _, err := db.Sweep(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		return db.sweeps.folded != was
	}
	swept(time.Hour)
	publish(t, db, queue.Publish{Queue: "jobs"})
	for _, c := range []struct {
		what string
		ago  time.Duration
		want bool
		left int
	}{
		{"a message was published, and the last fold was just now", foldEvery / 2, false, 1},
		{"it was a second ago", foldEvery, true, 0},
		{"nothing happened since", foldRest / 2, false, 0},
		{"for long", foldRest, true, 0},
	} {
		if folded := swept(c.ago); folded != c.want {
			t.Errorf("%s: folded %v, want %v", c.what, folded, c.want)
		}
		if left := count(t, db, "SELECT count(DISTINCT queue) FROM count_deltas"); left != c.left {
			t.Errorf("%s: deltas of %d queues are left, want %d", c.what, left, c.left)
		}
	}
	db.sweeps.counts.looks = looks{took: lowFrom, looked: time.Now().Add(-time.Hour)}
	if !swept(foldEvery) {
		t.Error("looks are slow, a full one is due, and no fold makes it: each count will")
	}
}
