package webhook

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

// ClaimHash is the ledger's key of one send of a delivery.
func ClaimHash(project, endpoint int64, eventID string, send int) [32]byte {
	return ledger.Hash(project, Scope, strconv.FormatInt(endpoint, 10), eventID, strconv.Itoa(send))
}

// Again refuses the event where its id is known from one whose content had another hash; nil if it is the same event again.
func (n *NewEvent) Again(hash []byte) error {
	if bytes.Equal(hash, n.Hash) {
		return nil
	}
	return fault.New(fault.EventIDReused, "the event_id %q was used for an event with other content", n.EventID).
		WithHint("send other content under an event_id of its own")
}

// IDHeld says that an event cannot be answered yet: a transaction that is open has its id, or its key.
func (n *NewEvent) IDHeld() error {
	held := fmt.Sprintf("the event_id %q", n.EventID)
	if n.Request != nil {
		held += fmt.Sprintf(" or the idempotency key %q", n.Request.Key)
	}
	return &fault.Error{
		Code: fault.Unavailable, Message: held + " is in a transaction that is still open",
		Hint: "send the same event again once that transaction is over", RetryAfter: time.Second,
	}
}

// Stand fills in what a delivery's newest send says of it: its claim, the grants of former sends (base), and whether it was cancelled.
func (d *Delivery) Stand(c *ledger.Claim, base int, cancelled bool) {
	d.State, d.Policy, d.LastError = StateOf(c.State, c.Attempt-base, cancelled), c.Policy, c.LastError
	d.NextAttemptAt, d.DeliveredAt = time.Time{}, time.Time{}
	switch {
	case cancelled:
	case c.State == ledger.New:
		d.NextAttemptAt = c.CreatedAt
	case c.State == ledger.Retry:
		d.NextAttemptAt = c.NextAt
	case c.State == ledger.Done:
		d.DeliveredAt = c.FinishedAt
	}
}

// Attempt gives the row of an outcome that is settled at now, which leads to another attempt at next (zero: to none). It began and ended as
// long ago as the worker's monotonic clock says. Its class is the answer's, and its error why there was none: the claim has the sentence.
func (o *Outcome) Attempt(now, next time.Time) Attempt {
	ago := max(0, o.Ago)
	began := now.Add(-ago)
	a := Attempt{
		Attempt: o.Job.Attempt, Cause: o.Job.Cause, StartedAt: began, FinishedAt: began.Add(min(max(0, o.Latency), ago)), Result: o.Result,
		StatusCode: o.Status, Latency: o.Latency, ResponseStart: o.Response, Error: o.Error, NextAttemptAt: next,
	}
	switch {
	case o.Kind == ledger.Permanent && o.Status != http.StatusGone: // retry_4xx false ends the delivery, and changes nothing of what the answer means
		a.Class = ledger.Definite
	case o.Kind != ledger.Succeeded:
		a.Class = o.Kind
	}
	if o.Result == Refused { // the status says it
		a.Error = ""
	}
	return a
}

// Follow does to the message that carries a delivery's claim what became of that at now: done removes it, a dead letter
// too; failed and stuck dead-letter it; a retry releases it until then. false: nothing is to be saved, for it is a dead
// letter already, or another lease has it and will find the claim as it is.
func Follow(now time.Time, c *ledger.Claim, m *queue.Row, lease int, dlq queue.DLQ) (queue.Change, bool) {
	switch {
	case c.State == ledger.Done:
		return m.Remove(), true
	case !c.State.Terminal():
		s, change := m.Settle(now, queue.Settle{Verb: queue.Release, Lease: lease, Delay: c.NextAt.Sub(now)}, queue.Group{}, dlq)
		return change, s.Applied
	case !m.DeadAt.IsZero():
		return queue.Change{}, false
	}
	return m.DeadLetter(now, dlq, c.LastError), true
}

// Died gives the row of an attempt whose worker was found dead at now, holding c since it received the message. Its cause and what follows are
// for the store to say.
func Died(now time.Time, c *ledger.Claim, received time.Time) Attempt {
	a := Attempt{
		Attempt: c.Attempt, StartedAt: received, FinishedAt: c.LeaseUntil, Result: Unknown, Class: ledger.Ambiguous, Error: "worker died",
	}
	if c.State == ledger.Claimed {
		a.Result, a.Class, a.Error = NotSent, ledger.Definite, "worker died before it sent anything"
	}
	if a.FinishedAt.IsZero() || a.FinishedAt.After(now) {
		a.FinishedAt = now
	}
	if a.StartedAt.IsZero() || a.StartedAt.After(a.FinishedAt) {
		a.StartedAt = a.FinishedAt
	}
	return a
}
