package sqlite

import (
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

func loadAttempt(s scanner) (a webhook.Attempt, err error) {
	var latency *float64
	err = s.Scan(&a.ID, &a.Attempt, &a.Cause, toTime(&a.StartedAt), toTime(&a.FinishedAt), &a.Result, toText((*string)(&a.Class)),
		toInt(&a.StatusCode), &latency, &a.ResponseStart, toText(&a.Error), toTime(&a.NextAttemptAt))
	if latency != nil {
		a.Latency = time.Duration(*latency * float64(time.Millisecond))
	}
	return a, err
}

// attempts gives a delivery's, oldest first.
func (t *tx) attempts(delivery int64) (out []webhook.Attempt, err error) {
	err = t.each("attempt_list", func(r scanner) error {
		a, err := loadAttempt(r)
		out = append(out, a)
		return err
	}, delivery)
	return out, err
}

func attemptValues(a *webhook.Attempt) []any {
	return []any{
		at(a.StartedAt), at(a.FinishedAt), a.Result, textOrNull(string(a.Class)), orNull(int64(a.StatusCode)),
		float64(a.Latency) / float64(time.Millisecond), blobOrNull(a.ResponseStart), textOrNull(a.Error), at(a.NextAttemptAt),
	}
}

// addAttempt stores how the newest grant of a claim ended.
func (t *tx) addAttempt(delivery int64, c *ledger.Claim, a webhook.Attempt) error {
	id, err := t.id(seqAttempts)
	if err != nil {
		return err
	}
	_, err = t.exec("attempt_insert", append([]any{id, delivery, c.ID, c.Fence, a.Attempt, a.Cause}, attemptValues(&a)...)...)
	return err
}

// amendAttempt stores how an attempt ended whose worker was taken for dead: one POST has one row.
func (t *tx) amendAttempt(delivery int64, c *ledger.Claim, a webhook.Attempt) error {
	var id int64
	ok, err := found(t.row("attempt_known", delivery, a.Attempt).Scan(&id))
	if err != nil {
		return err
	}
	if !ok {
		return t.addAttempt(delivery, c, a)
	}
	_, err = t.exec("attempt_save", append(attemptValues(&a), id)...)
	return err
}

// logged lets a transaction go on without the row of an attempt that could not be written: it never causes a second POST,
// nor drops one.
func (t *tx) logged(err error, delivery int64) error {
	if err == nil || undoes(err) {
		return err
	}
	t.db.options.Logger.Error("an attempt could not be recorded", "delivery", delivery, "error", err)
	return nil
}

// addDeath stores the attempt of a worker that was found dead: was is the claim it held, begun when it received it.
func (t *tx) addDeath(d *delivery, was *ledger.Claim, begun, next time.Time) error {
	a := webhook.Died(t.now, was, begun)
	a.Cause, a.NextAttemptAt = causeOf(d, was), next
	return t.addAttempt(d.ID, was, a)
}

// noteDeath records that the holder of a delivery's claim is gone, as an attempt of its own. next is when another comes.
func (t *tx) noteDeath(held *ledger.Claim, next time.Time) error {
	d, ok, err := t.deliveryByClaim(held.ID)
	if err != nil || !ok {
		return err
	}
	m, _, err := t.messageByID(held.MessageID)
	if err != nil {
		return err
	}
	return t.logged(t.addDeath(&d, held, m.ReceivedAt, next), d.ID)
}
