package sqlite

import (
	"context"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

// act applies a person's act to a delivery and its newest send's claim, saves both, and gives the delivery as it is then.
func (db *DB) act(ctx context.Context, op string, a webhook.Act, f func(t *tx, d *delivery, c *ledger.Claim) error) (v webhook.Delivery, err error) {
	err = db.write(ctx, op, 0, func(t *tx) error {
		d, err := t.deliveryByID(a.Project, a.ID)
		if err != nil {
			return err
		}
		c, ok, err := t.claimByID(d.ClaimID)
		if err == nil && !ok {
			err = webhook.NoDelivery()
		}
		if err != nil {
			return err
		}
		if err := f(t, &d, &c); err != nil {
			return err
		}
		if err := t.saveDelivery(&d); err != nil {
			return err
		}
		v, err = t.view(a.Project, a.ID)
		return err
	})
	return v, err
}

// Resend makes a new send of a delivery.
func (db *DB) Resend(ctx context.Context, a webhook.Act, newKey bool) (webhook.Delivery, error) {
	return db.act(ctx, "resend", a, func(t *tx, d *delivery, former *ledger.Claim) error {
		if err := d.state(*former).MayResend(); err != nil {
			return err
		}
		if _, ok, err := t.endpoint(d.Endpoint); err != nil {
			return err
		} else if !ok {
			return webhook.NoEndpointLeft()
		}
		var eventID string
		var madeAt time.Time
		if err := t.row("event_sent", d.Event).Scan(&eventID, toTime(&madeAt)); err != nil {
			return err
		}
		if err := t.removeLetter(former); err != nil {
			return err
		}
		d.Sends++
		if newKey {
			d.KeySend = d.Sends
		}
		d.Cause, d.AttemptBase, d.CancelledAt = webhook.ByResend, former.Attempt, time.Time{}
		id, err := t.id(seqClaims)
		if err != nil {
			return err
		}
		// A person says so, and the key is new: the ledger's memory begins anew with it.
		c := ledger.Claim{
			ID: id, Project: d.Project, Hash: webhook.ClaimHash(d.Project, d.Endpoint, eventID, d.Sends), Policy: former.Policy, State: ledger.New,
			Attempt: d.AttemptBase, MaxTries: former.MaxTries, Window: former.Window, OriginAt: t.now, CreatedAt: t.now,
		}
		if err := t.addMessage(&c, d.Endpoint, madeAt); err != nil {
			return err
		}
		if err := t.insertClaim(&c, deliveryClaim); err != nil {
			return err
		}
		d.ClaimID = c.ID
		return t.note(c.ID, ledger.Note{What: "resent", Who: a.Who, Detail: a.Note})
	})
}

// removeLetter deletes the dead letter of a claim that has one.
func (t *tx) removeLetter(c *ledger.Claim) error {
	m, ok, err := t.messageByID(c.MessageID)
	if err != nil || !ok || m.ClaimID != c.ID {
		return err
	}
	return t.removeMessage(&m)
}

// Resolve is a person's word on a stuck delivery.
func (db *DB) Resolve(ctx context.Context, a webhook.Act, as ledger.State) (webhook.Delivery, error) {
	return db.act(ctx, "resolve", a, func(t *tx, d *delivery, c *ledger.Claim) error {
		if err := d.state(*c).MayResolve(); err != nil {
			return err
		}
		if !c.Resolve(t.now, as) {
			return conflict("a stuck delivery cannot be resolved as %s", as)
		}
		if err := t.saveClaim(c); err != nil {
			return err
		}
		if err := t.note(c.ID, ledger.Note{What: "resolved", Fence: c.Fence, Who: a.Who, Detail: ledger.Said(string(as), a.Note)}); err != nil {
			return err
		}
		switch as {
		case ledger.Done:
			return t.removeLetter(c)
		case ledger.Retry:
			d.Cause = webhook.ByRedrive
			back, err := t.sendBack(d, c)
			if err == nil && !back {
				err = webhook.NoEndpointLeft()
			}
			return err
		}
		return nil
	})
}

// sendBack returns a delivery's dead letter to its queue: false if its endpoint is gone.
func (t *tx) sendBack(d *delivery, c *ledger.Claim) (bool, error) {
	if _, ok, err := t.endpoint(d.Endpoint); err != nil || !ok {
		return false, err
	}
	m, ok, err := t.messageByID(c.MessageID)
	if err != nil || !ok || m.DeadAt.IsZero() {
		return false, err
	}
	was := m
	return true, t.applyChange(&was, &m, m.Redrive(t.now))
}

// Cancel ends a delivery that waits.
func (db *DB) Cancel(ctx context.Context, a webhook.Act) (webhook.Delivery, error) {
	return db.act(ctx, "cancel", a, func(t *tx, d *delivery, c *ledger.Claim) error {
		if err := d.state(*c).MayCancel(t.now, c); err != nil {
			return err
		}
		return t.cancel(d, c, a.Who, a.Note)
	})
}

// cancel closes an open delivery's claim and removes its message. The delivery is for the caller to save.
func (t *tx) cancel(d *delivery, c *ledger.Claim, who, why string) error {
	m, ok, err := t.messageByID(c.MessageID)
	if err != nil {
		return err
	}
	if c.State.Held() {
		if err := t.logged(t.addDeath(d, c, m.ReceivedAt, time.Time{}), d.ID); err != nil {
			return err
		}
	}
	if c.Close(t.now, ledger.Said("cancelled", why)) {
		if err := t.saveClaim(c); err != nil {
			return err
		}
	}
	d.CancelledAt = t.now
	if err := t.note(c.ID, ledger.Note{What: "cancelled", Fence: c.Fence, Who: who, Detail: why}); err != nil || !ok {
		return err
	}
	return t.removeMessage(&m)
}
