package sqlite

import (
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// deliveryDLQ is where dead deliveries go. They stay until their claim is forgotten.
var deliveryDLQ = queue.DLQ{ID: deadDeliveries, Retention: 3155760000 * time.Second}

// delivery is a delivery's row.
type delivery struct {
	ID          int64
	Project     int64
	Event       int64
	Endpoint    int64
	ClaimID     int64 // of its newest send
	Sends       int
	KeySend     int
	Cause       webhook.Cause // of the next first try
	Ladder      string        // JSON: seconds
	AttemptBase int           // grants of former sends
	CreatedAt   time.Time
	CancelledAt time.Time
}

func loadDelivery(s scanner, d *delivery) error {
	return s.Scan(&d.ID, &d.Project, &d.Event, &d.Endpoint, &d.ClaimID, &d.Sends, &d.KeySend, &d.Cause, &d.Ladder, &d.AttemptBase,
		toTime(&d.CreatedAt), toTime(&d.CancelledAt))
}

// deliveryByID finds a delivery of a project.
func (t *tx) deliveryByID(project, id int64) (d delivery, err error) {
	ok, err := found(loadDelivery(t.row("delivery_by_id", id), &d))
	if err == nil && (!ok || d.Project != project) {
		err = webhook.NoDelivery()
	}
	return d, err
}

// deliveryByClaim finds the delivery whose newest send a claim is: false if it is a former one's.
func (t *tx) deliveryByClaim(claim int64) (d delivery, ok bool, err error) {
	ok, err = found(loadDelivery(t.row("delivery_by_claim", claim), &d))
	return d, ok, err
}

func (t *tx) insertDelivery(d *delivery) error {
	_, err := t.exec("delivery_insert", d.ID, d.Project, d.Event, d.Endpoint, d.ClaimID, d.Sends, d.KeySend, d.Cause, d.Ladder, d.AttemptBase,
		at(d.CreatedAt), at(d.CancelledAt))
	return err
}

// saveDelivery stores what a person's act can change.
func (t *tx) saveDelivery(d *delivery) error {
	_, err := t.exec("delivery_save", d.ClaimID, d.Sends, d.KeySend, d.Cause, d.AttemptBase, at(d.CancelledAt), d.ID)
	return err
}

// state gives the delivery's state from its newest send's claim.
func (d *delivery) state(c ledger.Claim) webhook.State {
	return webhook.StateOf(c.State, c.Attempt-d.AttemptBase, !d.CancelledAt.IsZero())
}

// ladder gives the rungs of a stored ladder.
func (t *tx) ladder(stored string) ([]time.Duration, error) {
	rungs, err := decoded[[]float64](t.session, stored)
	return fromRungs(rungs), err
}

// causeOf says why the newest grant of a claim is tried: the delivery's own cause the first time since the last
// reopening, then as a retry.
func causeOf(d *delivery, c *ledger.Claim) webhook.Cause {
	if c.Tries <= 1 {
		return d.Cause
	}
	return webhook.ByRetry
}

// addMessage stores the message that carries a claim, due now, and wakes its endpoint's group.
func (t *tx) addMessage(c *ledger.Claim, endpoint int64, originAt time.Time) error {
	id, err := t.id(seqMessages)
	if err != nil {
		return err
	}
	p := queue.Publish{Project: c.Project, OriginAt: originAt}
	m := p.New(t.now, queue.Queue{ID: deliveriesQueue, MaxReceives: queue.MaxMaxReceives, Retention: queue.MaxRetention}, id, endpoint)
	m.ClaimID, c.MessageID = c.ID, id
	if err := t.insertMessage(&m); err != nil {
		return err
	}
	return t.wakeGroup(endpoint, deliveriesQueue, m.VisibleAt)
}
