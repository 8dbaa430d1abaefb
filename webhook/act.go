package webhook

import (
	"strconv"
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
	return fault.New(fault.Conflict, "the delivery's endpoint was deleted: there is nowhere to send it").WithHint("make an endpoint, and send it the event under another event_id")
}

// NotForThese refuses an event that names, in a place of its endpoints, one that is not there or that is of another tenant.
func NotForThese(place int, there bool) error {
	field := "/endpoint_ids/" + strconv.Itoa(place)
	if !there {
		return fault.Invalid(field, "endpoint_ids names an endpoint that is not there").WithHint("it was deleted: leave it out")
	}
	return fault.Invalid(field, "endpoint_ids names an endpoint of another tenant than the event's").WithHint("an event goes only to endpoints of its own tenant")
}

// NoEvent says that an event is not there: [ErrNotFound].
func NoEvent(id string) error {
	return fault.New(fault.NotFound, "there is no event %s", fault.Quote(id))
}

// NoDelivery says that a delivery is not there: [ErrNotFound].
func NoDelivery() error { return fault.New(fault.NotFound, "there is no such delivery") }

// RedriveRunning refuses a redrive of an endpoint at which another is: [ErrConflict].
func RedriveRunning() error {
	return fault.New(fault.Conflict, "another redrive is at work on one of the endpoints that this one concerns").
		WithHint("wait for its end, cancel it, or name another endpoint_id or tenant")
}
