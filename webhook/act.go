package webhook

import (
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
)

// MayResend refuses to send a delivery anew that is still under way: [ErrConflict].
func (s State) MayResend() error {
	switch s {
	case Pending, Sending, Retrying:
		return s.refuse("sent again").WithHint("cancel it first, or wait for its end")
	}
	return nil
}

// MayResolve refuses a person's word on a delivery that is not stuck: [ErrConflict].
func (s State) MayResolve() error {
	if s != Stuck {
		return s.refuse("resolved").WithHint("only a stuck one is")
	}
	return nil
}

// MayCancel refuses to cancel a delivery that does not wait: [ErrConflict]. One that is being sent does wait where the lease of
// whoever sends it is over by now: nobody has it any more, and its endpoint's turn may never come.
func (s State) MayCancel(now time.Time, c *ledger.Claim) error {
	if s == Sending && !c.LeaseUntil.After(now) {
		return nil
	}
	if s != Pending && s != Retrying {
		return s.refuse("cancelled").WithHint("only a pending or retrying one is")
	}
	return nil
}

func (s State) refuse(what string) *fault.Error {
	return fault.New(fault.Conflict, "the delivery is %s: it cannot be %s now", s, what)
}

// NoEndpointLeft refuses to send a delivery whose endpoint was deleted: [ErrConflict].
func NoEndpointLeft() error {
	return fault.New(fault.Conflict, "the delivery's endpoint was deleted: there is nowhere to send it")
}

// NoDelivery says that a delivery is not there: [ErrNotFound].
func NoDelivery() error { return fault.New(fault.NotFound, "there is no such delivery") }

// RedriveRunning refuses a redrive of an endpoint at which another is: [ErrConflict].
func RedriveRunning() error {
	return fault.New(fault.Conflict, "another redrive is at work on one of the endpoints that this one concerns").
		WithHint("wait for its end, cancel it, or name another endpoint_id or tenant")
}
