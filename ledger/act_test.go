package ledger

import (
	"errors"
	"testing"
	"time"
)

func TestActs(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		claim Claim
		act   func(*Claim) error
		want  error
		state State
	}{
		"resolved":           {Claim{State: Stuck, Fence: 3}, func(c *Claim) error { return Resolution{As: Done, Fence: 3}.Apply(now, c) }, nil, Done},
		"without a fence":    {Claim{State: Stuck, Fence: 3}, func(c *Claim) error { return Resolution{As: Retry}.Apply(now, c) }, nil, Retry},
		"moved meanwhile":    {Claim{State: Stuck, Fence: 4}, func(c *Claim) error { return Resolution{As: Done, Fence: 3}.Apply(now, c) }, ErrChanged, Stuck},
		"not to be resolved": {Claim{State: Started}, func(c *Claim) error { return Resolution{As: Done}.Apply(now, c) }, ErrConflict, Started},
		"reopened":           {Claim{State: Failed, Policy: Once}, func(c *Claim) error { return c.Redrive(now) }, nil, Retry},
		"left for a person":  {Claim{State: Stuck, Policy: Once}, func(c *Claim) error { return c.Redrive(now) }, ErrConflict, Stuck},
	} {
		if err := c.act(&c.claim); !errors.Is(err, c.want) || c.claim.State != c.state {
			t.Errorf("%s: %v, now %s", name, err, c.claim.State)
		}
	}
	if !errors.Is(NoClaim("s", "k"), ErrNotFound) || Said("done", "") != "done" || Said("done", "late") != "done: late" {
		t.Error("what is said of claims")
	}
}
