package ledger

import (
	"testing"
	"time"
)

func TestForgotten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state State
		keep  time.Duration
		after time.Duration
		want  bool
	}{
		{Done, time.Hour, time.Hour - 1, false},
		{Done, time.Hour, time.Hour, true},
		{Failed, time.Hour, time.Hour, true},
		{Done, 0, Memory - 1, false},
		{Done, 0, Memory, true},
		{Stuck, time.Hour, 1000 * Memory, false},
		{Retry, time.Hour, 1000 * Memory, false},
		{Started, time.Hour, 1000 * Memory, false},
	} {
		k := Claim{State: c.state, Keep: c.keep, FinishedAt: t0}
		if got := k.Forgotten(t0.Add(c.after)); got != c.want {
			t.Errorf("%s kept for %v, %v later: forgotten %v", c.state, c.keep, c.after, got)
		}
	}
}
