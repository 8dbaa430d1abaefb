package sqlite

import (
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// deliverySweep remembers how far the paging duties came; of the writer's lane alone.
type deliverySweep struct {
	ended  mark  // of claims
	events int64 // event id
}

// mark is a place in an index of times.
type mark struct{ at, id int64 }

// lapseDelivery moves the claim of a delivery whose worker's lease ran out: another may try it, or nobody can know. That
// does not wait for the endpoint's turn, which does not come while it is disabled.
func (t *tx) lapseDelivery(m *queue.Row) error {
	c, ok, err := t.claimByID(m.ClaimID)
	if err != nil || !ok || !c.State.Held() {
		return err
	}
	held := c
	if !c.Reap(t.now) {
		return nil
	}
	if err := t.saveClaim(&c); err != nil {
		return err
	}
	if err := t.noteDeath(&held, c.NextAt); err != nil || !c.State.Terminal() {
		return err
	}
	was := *m
	return t.applyChange(&was, m, m.DeadLetter(t.now, deliveryDLQ, c.LastError))
}

// sweepDeletedEndpoints cancels what waits for deleted endpoints, and forgets those for which nothing is left.
func (t *tx) sweepDeletedEndpoints(limit int) (done int, err error) {
	deleted, err := t.ids("endpoint_deleted")
	for _, id := range deleted {
		if err != nil || done >= limit {
			return done, err
		}
		n, e := t.cancelWaiting(id, limit-done)
		done, err = done+n, e
		if err != nil || n > 0 {
			continue
		}
		g, ok, e := t.groupByID(id)
		if err = e; err != nil || ok && g.InFlight > 0 {
			continue // the one being sent is finished and recorded
		}
		if _, err = t.exec("endpoint_forget", id); err == nil {
			_, err = t.exec("group_forget", id)
		}
		done++
	}
	return done, err
}

// cancelWaiting cancels at most limit deliveries that wait for a deleted endpoint.
func (t *tx) cancelWaiting(endpoint int64, limit int) (int, error) {
	waiting, err := t.ids("group_waiting", endpoint, limit)
	if err != nil {
		return 0, err
	}
	done := 0
	for _, id := range waiting {
		err := t.nest(func(t *tx) error { return t.cancelMessage(id) })
		switch {
		case t.undone:
			return done, err
		case err != nil:
			t.db.options.Logger.Error("a deleted endpoint's delivery could not be cancelled", "message", id, "error", err)
		default:
			done++
		}
	}
	return done, nil
}

// cancelMessage cancels the delivery that a message of a deleted endpoint carries.
func (t *tx) cancelMessage(id int64) error {
	m, ok, err := t.messageByID(id)
	if err != nil || !ok {
		return err
	}
	c, ok, err := t.claimByID(m.ClaimID)
	var d delivery
	if err == nil && ok {
		d, ok, err = t.deliveryByClaim(c.ID)
	}
	if err != nil {
		return err
	}
	if !ok || c.State.Terminal() {
		return t.removeMessage(&m)
	}
	if err := t.cancel(&d, &c, "", "its endpoint was deleted"); err != nil {
		return err
	}
	return t.saveDelivery(&d)
}

// endedPage is how many ended claims, or old events, a sweep looks at: most of them may wait for a younger one.
const endedPage = 200

// sweepEnded forgets deliveries whose claim ended longer ago than the ledger remembers: an event with all it made once
// the last of them is that old, and former sends by themselves.
func (t *tx) sweepEnded(limit int) (done int, err error) {
	cutoff := at(t.now.Add(-ledger.Memory))
	next, err := paged(t.db.delivered.ended, mark{}, func(after mark) (page []mark, err error) {
		err = t.each("claim_ended", func(r scanner) error {
			var m mark
			err := r.Scan(&m.id, &m.at)
			page = append(page, m)
			return err
		}, after.at, after.id, cutoff, endedPage)
		return page, err
	}, func(m mark) (bool, error) {
		n := 0
		err := t.nest(func(t *tx) (err error) {
			n, err = t.forgetEnded(m.id, cutoff)
			return err
		})
		switch {
		case t.undone:
			return false, err
		case err != nil:
			t.db.options.Logger.Error("an ended delivery could not be forgotten", "claim", m.id, "error", err)
		default:
			done += n
		}
		return done < limit, nil
	})
	t.onCommit(func() { t.db.delivered.ended = next })
	return done, err
}

// paged gives a page of what comes after a place to look until that answers false, and where to go on: from the
// beginning once the end was reached, and at once if it had not begun there.
func paged[T comparable](after, beginning T, read func(after T) ([]T, error), look func(T) (bool, error)) (T, error) {
	for {
		begun := after
		page, err := read(after)
		if err != nil {
			return begun, err
		}
		for _, item := range page {
			more, err := look(item)
			if err != nil {
				return begun, err
			}
			if after = item; !more {
				return after, nil
			}
		}
		if len(page) == endedPage {
			return after, nil
		}
		if after = beginning; begun == beginning {
			return after, nil
		}
	}
}

// forgetEnded forgets one claim, with its delivery's event and all of that if nothing of it is younger.
func (t *tx) forgetEnded(claim int64, cutoff any) (int, error) {
	c, ok, err := t.claimByID(claim)
	if err != nil || !ok { // it went with another of its event
		return 0, err
	}
	d, ok, err := t.deliveryByClaim(claim)
	if err != nil {
		return 0, err
	}
	if !ok {
		return 1, t.forgetClaim(&c)
	}
	var younger bool
	if err := t.row("event_younger", d.Event, cutoff).Scan(&younger); err != nil || younger {
		return 0, err
	}
	return 1, t.forgetEvent(d.Event)
}

// forgetEvent deletes an event with its deliveries, their attempts, claims, histories and dead letters.
func (t *tx) forgetEvent(event int64) error {
	var eventID string
	var madeAt time.Time
	if err := t.row("event_sent", event).Scan(&eventID, toTime(&madeAt)); err != nil {
		return err
	}
	var all []delivery
	err := t.each("delivery_by_event", func(r scanner) error {
		var d delivery
		err := loadDelivery(r, &d)
		all = append(all, d)
		return err
	}, event)
	if err != nil {
		return err
	}
	for _, d := range all {
		for send := 1; send <= d.Sends; send++ {
			c, ok, err := t.claimByHash(webhook.ClaimHash(d.Project, d.Endpoint, eventID, send), deliveryClaim)
			if err == nil && ok {
				err = t.forgetClaim(&c)
			}
			if err != nil {
				return err
			}
		}
		for _, what := range []string{"attempt_forget", "delivery_forget"} {
			if _, err := t.exec(what, d.ID); err != nil {
				return err
			}
		}
	}
	_, err = t.exec("event_forget", event)
	return err
}

// forgetClaim deletes a claim with its history and the dead letter that carries it.
func (t *tx) forgetClaim(c *ledger.Claim) error {
	if err := t.removeLetter(c); err != nil {
		return err
	}
	return t.forgetKey(c.ID)
}

// sweepEvents forgets old events of which no claim's end tells: nobody had subscribed, or every delivery was cancelled after an unknown outcome.
func (t *tx) sweepEvents(limit int) (done int, err error) {
	younger := map[int64]bool{}
	next, err := paged(t.db.delivered.events, 0, func(after int64) (page []int64, err error) {
		err = t.each("event_old", func(r scanner) error {
			var id int64
			var some bool
			err := r.Scan(&id, &some)
			page, younger[id] = append(page, id), some
			return err
		}, after, endedPage, at(t.now.Add(-ledger.Memory)))
		return page, err
	}, func(id int64) (bool, error) {
		if younger[id] {
			return true, nil
		}
		err := t.nest(func(t *tx) error { return t.forgetEvent(id) })
		switch {
		case t.undone:
			return false, err
		case err != nil:
			t.db.options.Logger.Error("an old event could not be forgotten", "event", id, "error", err)
		default:
			done++
		}
		return done < limit, nil
	})
	t.onCommit(func() { t.db.delivered.events = next })
	return done, err
}
