package ledger

import (
	"time"

	"github.com/onceward/onceward/internal/fault"
)

// Apply lets a person's word decide a claim: [ErrChanged] where that moved since the fence the person saw, [ErrConflict] where its state does
// not allow it.
func (r Resolution) Apply(now time.Time, c *Claim) error {
	if r.Fence != 0 && r.Fence != c.Fence {
		return fault.New(fault.ClaimChanged, "the key was granted again meanwhile: its fence is %d, not %d", c.Fence, r.Fence).
			WithHint("look at the key again before you decide")
	}
	if was := c.State; !c.Resolve(now, r.As) {
		return fault.New(fault.Conflict, "a key in state %s cannot be resolved as %s", was, r.As)
	}
	return nil
}

// Redrive reopens a claim, or refuses one that a redrive leaves alone: [ErrConflict].
func (c *Claim) Redrive(now time.Time) error {
	if was := c.State; !c.Reopen(now) {
		return fault.New(fault.Conflict, "a key of policy %s in state %s is not reopened by a redrive", c.Policy, was).
			WithHint("what failed is, and what is stuck under policy %s; a person resolves the rest", Idempotent)
	}
	return nil
}

// NoClaim says that a key is not there: [ErrNotFound].
func NoClaim(scope, key string) error {
	return fault.New(fault.NotFound, "there is no claim of key %s in scope %s", fault.Quote(key), fault.Quote(scope))
}

// KeyHeld says that a call for a key cannot be answered yet: a transaction that is open has the key.
func KeyHeld() error {
	return &fault.Error{
		Code: fault.Unavailable, Message: "the key is in a transaction that is still open",
		Hint: "try again once that transaction is over", RetryAfter: time.Second,
	}
}

// Said joins a word of a claim's history with what was said beside it, which may be nothing.
func Said(word, text string) string {
	if text == "" {
		return word
	}
	return word + ": " + text
}
