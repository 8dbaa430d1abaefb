package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

var (
	deliveryEndpointSQL = stmt("delivery_endpoint")
	resendClaimSQL      = stmt("delivery_resend_claim")
	resendSQL           = stmt("delivery_resend")
	deliveryMessageSQL  = stmt("delivery_message")
	deliveryCauseSQL    = stmt("delivery_cause")
	cancelDeliveriesSQL = stmt("delivery_cancel")
)

// acting is a person's act on one delivery: its row, its newest claim and that one's message, both locked.
type acting struct {
	*changes
	webhook.Act
	d *deliveryRow
	c *claim
	m *queue.Row // nil: none
}

// act runs a person's act under the lock of the delivery's newest claim, and gives the delivery as it is then.
func (db *DB) act(ctx context.Context, verb string, a webhook.Act, do func(ctx context.Context, t *acting) error) (out webhook.Delivery, err error) {
	err = db.in(ctx, func(ctx context.Context, tx *txn) error {
		d, err := readDelivery(ctx, tx, a.Project, a.ID)
		if err != nil {
			return err
		}
		claims, err := tx.readClaims(ctx, lockDeliveryClaimsSQL, []int64{d.claim})
		if err != nil {
			return err
		}
		locked, err := readDelivery(ctx, tx, a.Project, a.ID)
		if err != nil {
			return err
		}
		c := claims[locked.claim]
		if c == nil {
			return errAgain // sent anew between look and lock
		}
		messages, err := tx.lockMessages(ctx, []int64{c.MessageID})
		if err != nil {
			return err
		}
		t := &acting{changes: newChanges(tx, claims), Act: a, d: locked, c: c, m: messages[c.MessageID]}
		if err := do(ctx, t); err != nil {
			return err
		}
		if err := t.flush(ctx, db.hub); err != nil {
			return err
		}
		if d, err = readDelivery(ctx, tx, a.Project, a.ID); err != nil {
			return err
		}
		out = d.Delivery
		return withAttempts(ctx, tx, []*webhook.Delivery{&out})
	})
	return out, wrap(verb, "", err)
}

func (t *acting) conflict(what string) error {
	return fault.New(fault.Conflict, "the delivery is %s: it cannot be %s now", t.d.State, what)
}

// reachable refuses where the delivery's endpoint is gone, and holds it where it is not.
func (t *acting) reachable(ctx context.Context) error {
	var id int64
	err := t.tx.QueryRow(ctx, deliveryEndpointSQL, t.d.EndpointID).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return webhook.NoEndpointLeft()
	}
	return err
}

// Resend makes a new send of a delivery: see [webhook.Deliveries].
func (db *DB) Resend(ctx context.Context, a webhook.Act, newKey bool) (webhook.Delivery, error) {
	return db.act(ctx, "resend delivery", a, func(ctx context.Context, t *acting) error {
		if err := t.d.State.MayResend(); err != nil {
			return err
		}
		if err := t.reachable(ctx); err != nil {
			return err
		}
		if t.m != nil { // the former send's dead letter
			if err := t.message(t.m, t.m.GroupID, queue.Change{Delete: true}); err != nil {
				return err
			}
		}
		send := t.d.sends + 1
		var id, message int64
		if err := t.tx.QueryRow(ctx, resendClaimSQL, t.c.ID, sendHash(t.d.Project, t.d.EndpointID, t.d.EventID, send)).Scan(&id, &message); err != nil {
			return err
		}
		keySend := t.d.KeySend
		if newKey {
			keySend = send
		}
		t.write(resendSQL, t.d.ID, id, keySend, t.c.Attempt)
		t.write(deliveryMessageSQL, message, t.d.Project, t.d.EndpointID, id, t.d.event)
		t.note(note{claim: id, what: "resent", who: t.Who, detail: t.Note})
		t.group(t.d.EndpointID, 0, t.tx.now)
		t.changes.wake(deliveriesQueue, t.tx.now)
		return nil
	})
}

// Resolve is a person's word on a stuck delivery: see [webhook.Deliveries].
func (db *DB) Resolve(ctx context.Context, a webhook.Act, as ledger.State) (webhook.Delivery, error) {
	return db.act(ctx, "resolve delivery", a, func(ctx context.Context, t *acting) error {
		if err := t.d.State.MayResolve(); err != nil {
			return err
		}
		if as == ledger.Retry {
			if err := t.reachable(ctx); err != nil {
				return err
			}
			if t.m == nil || t.m.DeadAt.IsZero() {
				return t.conflict("tried again").(*fault.Error).WithHint("resend it")
			}
		}
		if !t.c.Resolve(t.tx.now, as) {
			return t.conflict("resolved as " + string(as))
		}
		t.saveClaim(t.c)
		t.note(note{claim: t.c.ID, what: "resolved", fence: t.c.Fence, who: t.Who, detail: ledger.Said(string(as), t.Note)})
		switch {
		case as == ledger.Retry:
			t.write(deliveryCauseSQL, []int64{t.c.ID}, []string{string(webhook.ByRedrive)})
			return t.message(t.m, 0, t.m.Redrive(t.tx.now))
		case as == ledger.Done && t.m != nil:
			return t.message(t.m, t.m.GroupID, queue.Change{Delete: true})
		}
		return nil
	})
}

// Cancel ends a delivery that waits: see [webhook.Deliveries].
func (db *DB) Cancel(ctx context.Context, a webhook.Act) (webhook.Delivery, error) {
	return db.act(ctx, "cancel delivery", a, func(_ context.Context, t *acting) error {
		if err := t.d.State.MayCancel(t.tx.now, &t.c.Claim); err != nil {
			return err
		}
		if t.c.State.Held() {
			was := t.c.Claim
			t.dead = append(t.dead, deadHolder(&was, t.m, t.tx.now, time.Time{}))
		}
		t.c.Close(t.tx.now, ledger.Said("cancelled", t.Note))
		t.saveClaim(t.c)
		t.note(note{claim: t.c.ID, what: "cancelled", fence: t.c.Fence, who: t.Who, detail: t.Note})
		t.write(cancelDeliveriesSQL, []int64{t.c.ID})
		if t.m == nil {
			return nil
		}
		return t.drop(t.m)
	})
}

// drop deletes a message, its slot given back.
func (ch *changes) drop(m *queue.Row) error {
	return ch.message(m, m.GroupID, m.Remove())
}
