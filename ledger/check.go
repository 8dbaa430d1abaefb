package ledger

import (
	"time"

	"github.com/onceward/onceward/internal/canon"
	"github.com/onceward/onceward/internal/fault"
)

// Limits of what is asked of the ledger, and what stands where nothing was said.
const (
	MaxScope    = 128 // bytes
	MaxKey      = 512 // bytes
	MaxOwner    = 255 // bytes
	MaxResult   = 262_144
	MaxAttempts = 1000
	MinLease    = time.Second
	MaxLease    = 12 * time.Hour
	MinWindow   = time.Second
	MaxWindow   = 3650 * 24 * time.Hour
	MaxRetryIn  = 7 * 24 * time.Hour

	DefaultLease    = time.Minute
	DefaultAttempts = 5
)

// CheckKey refuses what is no scope or no key. Its fields are /scope and /key.
func CheckKey(scope, key string) error {
	if scope == "" || len(scope) > MaxScope || !printable(scope) {
		return fault.Invalid("/scope", "scope is %s; it must be 1 to %d printable ASCII characters that name the kind of work", fault.Quote(scope), MaxScope)
	}
	if key == "" || len(key) > MaxKey {
		return fault.Invalid("/key", "key has %d bytes; it must have 1 to %d", len(key), MaxKey).WithHint("of a longer one use a hash")
	}
	return nil
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Check refuses a call whose values are out of range, by the contract's names.
func (c *Call) Check() error {
	if err := CheckKey(c.Scope, c.Key); err != nil {
		return err
	}
	switch {
	case c.Policy != Idempotent && c.Policy != Once:
		return fault.Invalid("/policy", "policy is %s; it must be %q or %q", fault.Quote(string(c.Policy)), Idempotent, Once).
			WithHint("%s where the receiver of the effect knows the key or op_id, %s where it does not", Idempotent, Once)
	case len(c.Owner) > MaxOwner:
		return fault.Invalid("/owner", "owner has %d bytes; at most %d", len(c.Owner), MaxOwner)
	case c.MaxTries < 1 || c.MaxTries > MaxAttempts:
		return fault.Invalid("/max_attempts", "max_attempts is %d; it must be 1 to %d", c.MaxTries, MaxAttempts)
	case c.Window != 0 && (c.Window < MinWindow || c.Window > MaxWindow):
		return fault.Invalid("/receiver_window_seconds", "receiver_window_seconds is %v; it must be 1 to %d, or null (for ever)", c.Window.Seconds(), int(MaxWindow.Seconds()))
	}
	return checkLease(c.Grant.Lease)
}

// Check refuses a beat whose values are out of range, by the contract's names.
func (b *Beat) Check() error {
	if err := CheckKey(b.Scope, b.Key); err != nil {
		return err
	}
	if err := checkFence(b.Fence); err != nil {
		return err
	}
	return checkLease(b.Lease)
}

// Check refuses a word whose values are out of range, by the contract's names.
func (w *Word) Check() error {
	if err := CheckKey(w.Scope, w.Key); err != nil {
		return err
	}
	if err := checkFence(w.Fence); err != nil {
		return err
	}
	switch w.Kind {
	case Succeeded, Definite, Permanent, Ambiguous:
	default:
		return fault.Invalid("/kind", "kind is %s; it must be %q (it was refused, or never left), %q (refused for good) or %q (nobody can know)",
			fault.Quote(string(w.Kind)), Definite, Permanent, Ambiguous)
	}
	switch {
	case w.RetryIn < 0 || w.RetryIn > MaxRetryIn:
		return fault.Invalid("/retry_in_seconds", "retry_in_seconds is %v; it must be 0 to %d", w.RetryIn.Seconds(), int(MaxRetryIn.Seconds()))
	case len(w.Result) > MaxResult:
		e := fault.New(fault.PayloadTooLarge, "result has %d bytes; at most %d", len(w.Result), MaxResult).WithHint("keep it elsewhere, and give where it is")
		e.Field = "/result"
		return e
	}
	return canon.CheckDepth("/result", w.Result)
}

func checkFence(fence int64) error {
	if fence < 1 {
		return fault.Invalid("/fence", "fence is %d; it must be that of a grant, 1 or more", fence)
	}
	return nil
}

func checkLease(d time.Duration) error {
	if d < MinLease || d > MaxLease {
		return fault.Invalid("/lease_seconds", "lease_seconds is %v; it must be %d to %d", d.Seconds(), int(MinLease.Seconds()), int(MaxLease.Seconds()))
	}
	return nil
}
