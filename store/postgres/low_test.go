package postgres

import (
	"testing"
	"time"

	"github.com/onceward/onceward/queue"
)

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
