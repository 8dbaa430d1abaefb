package queue

import (
	"errors"
	"testing"
	"time"
)

func TestRedriveSteps(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for what, c := range map[string]struct {
		rate            float64
		used            time.Duration // ahead of now
		moved, left     int64         // by the step
		over, idle      bool
		again           time.Duration
		looked          int
		save            bool
		state           RedriveState
		movedTo, leftTo int64
		moveLimit       int
	}{
		"as fast as it goes":            {moved: 3, left: 1, again: time.Millisecond, looked: 4, save: true, state: Running, movedTo: 3, leftTo: 1, moveLimit: 10},
		"by its rate":                   {rate: 4, used: -time.Second, moved: 4, again: 250 * time.Millisecond, looked: 4, save: true, state: Running, movedTo: 4, moveLimit: 4},
		"its rate is used up":           {rate: 4, again: 250 * time.Millisecond, state: Running},
		"the last, the rest is left":    {moved: 2, over: true, looked: 2, save: true, state: Completed, movedTo: 2, leftTo: 2, moveLimit: 10},
		"over and idle is over":         {over: true, idle: true, save: true, state: Completed, leftTo: 4, moveLimit: 10},
		"it waits for a canary to tell": {idle: true, again: canaryPoll, state: Running, moveLimit: 10},
	} {
		r, pace := Redrive{State: Running, Total: 4, Rate: c.rate}, Pace{c.rate, now.Add(c.used)}
		s, err := r.Step(now, &pace, 10, func(allowed int) (bool, bool, error) {
			if allowed != c.moveLimit {
				t.Errorf("%s: %d may go, want %d", what, allowed, c.moveLimit)
			}
			r.Moved, r.Left = c.moved, c.left
			return c.over, c.idle, nil
		})
		if want := (Stepped{c.looked, c.again, c.save}); err != nil || s != want {
			t.Errorf("%s: %+v %v, want %+v", what, s, err, want)
		}
		if r.State != c.state || r.Moved != c.movedTo || r.Left != c.leftTo {
			t.Errorf("%s: %+v", what, r)
		}
		if c.rate > 0 && c.moved > 0 && !pace.Used.Equal(now) {
			t.Errorf("%s: its rate is used up to %v, want now", what, pace.Used.Sub(now))
		}
	}
}

func TestEachRedriveGetsItsShare(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var shares []int
	looked, again, err := StepEach([]string{"takes little", "fails", "takes all"}, 30, func(r string, limit int) (Stepped, error) {
		shares = append(shares, limit)
		switch r {
		case "fails":
			return Stepped{Looked: 99, Again: time.Microsecond}, broken
		case "takes little":
			return Stepped{Looked: 2, Again: time.Minute}, nil
		}
		return Stepped{Looked: limit, Again: 0}, nil
	})
	if want := []int{10, 14, 28}; len(shares) != 3 || shares[0] != want[0] || shares[1] != want[1] || shares[2] != want[2] {
		t.Errorf("the shares are %v, want %v", shares, want)
	}
	if looked != 30 || again != time.Second || !errors.Is(err, broken) {
		t.Errorf("%d looked at, again in %v, %v; want 30, in a second, as one failed, and its error", looked, again, err)
	}
}
