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
