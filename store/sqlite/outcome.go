package sqlite

import (
	"context"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// BeginDeliveries makes the line before the effect durable and extends the leases of claim and message together.
func (db *DB) BeginDeliveries(ctx context.Context, jobs []*webhook.Job) ([]ledger.Applied, error) {
	out := make([]ledger.Applied, len(jobs))
	err := db.write(ctx, "begin_deliveries", 0, func(t *tx) (err error) {
		for i, j := range jobs {
			if out[i], err = t.beginDelivery(j); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (t *tx) beginDelivery(j *webhook.Job) (ledger.Applied, error) {
	c, ok, err := t.claimByID(j.ClaimID)
	if err != nil || !ok {
		return ledger.Applied{Reason: ledger.NoKey}, err
	}
	held := c
	a := c.Begin(t.now, j.Fence, j.LeaseFor)
	if !a.Applied {
		return a, t.noteRefused(&c, a, j.Fence, "begin")
	}
	m, ok, err := t.messageByID(c.MessageID)
	if err != nil {
		return ledger.Applied{}, err
	}
	lost := ledger.Applied{State: held.State, Reason: queue.LeaseLost}
	if !ok {
		return lost, nil
	}
	was := m
	s, change, err := t.settleRow(&m, queue.Settle{Verb: queue.Extend, Lease: j.Lease, Visibility: j.LeaseFor}, deliveryDLQ)
	if err != nil || !s.Applied {
		return lost, err
	}
	if err := t.saveClaim(&c); err != nil {
		return ledger.Applied{}, err
	}
	return a, t.applyChange(&was, &m, change)
}

// settleRow applies an act of a receipt to a message's row, as its group allows.
func (t *tx) settleRow(m *queue.Row, s queue.Settle, dlq queue.DLQ) (queue.Settled, queue.Change, error) {
	var g queue.Group
	if s.Verb == queue.Extend && m.GroupID != 0 && m.Lapsed(t.now) {
		row, ok, err := t.groupByID(m.GroupID)
		if err != nil {
			return queue.Settled{}, queue.Change{}, err
		}
		g = queue.Group{Free: ok && row.free() > 0, Disabled: !ok || row.Disabled}
	}
	out, change := m.Settle(t.now, s, g, dlq)
	return out, change, nil
}

// SettleDeliveries applies outcomes: claim, attempt, message and slot in one transaction.
func (db *DB) SettleDeliveries(ctx context.Context, outcomes ...webhook.Outcome) ([]ledger.Applied, error) {
	out := make([]ledger.Applied, len(outcomes))
	size := 0
	for i := range outcomes {
		size += len(outcomes[i].Response) + 512
	}
	err := db.writeHot(ctx, "settle_deliveries", 1, size, func(t *tx) error {
		s := settling{tx: t}
		if err := s.load(outcomes); err != nil {
			return err
		}
		for i := range outcomes {
			var err error
			if out[i], err = s.settle(&outcomes[i]); err != nil {
				return err
			}
		}
		return s.free()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// settling is one SettleDeliveries under way.
type settling struct {
	*tx
	claims map[int64]*ledger.Claim // read at the beginning; each is good for the first outcome that it has
	done   []int64                 // claims, not yet written
	acked  alike[int64]            // messages to be deleted, by where they mostly are
}

// load reads those of the outcomes' claims, all at once, that are not known as they were granted.
func (s *settling) load(outcomes []webhook.Outcome) error {
	s.claims = make(map[int64]*ledger.Claim, len(outcomes))
	var ids []int64
	for i := range outcomes {
		id := outcomes[i].Job.ClaimID
		if c, ok := s.db.granted[id]; ok {
			s.claims[id] = &c
		} else {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return s.each("claim_list", func(r scanner) error {
		c := &ledger.Claim{}
		err := r.Scan(claimColumns(c)...)
		s.claims[c.ID] = c
		return err
	}, idList(ids))
}

// claim gives an outcome's claim: false if there is none.
func (s *settling) claim(id int64) (ledger.Claim, bool, error) {
	c, ok := s.claims[id]
	if !ok {
		if err := s.free(); err != nil {
			return ledger.Claim{}, false, err
		}
		return s.claimByID(id)
	}
	delete(s.claims, id)
	return *c, true, nil
}

func (s *settling) settle(o *webhook.Outcome) (ledger.Applied, error) {
	j := o.Job
	c, ok, err := s.claim(j.ClaimID)
	if err != nil || !ok {
		return ledger.Applied{Reason: ledger.NoKey}, err
	}
	was := c
	a := c.Settle(s.now, j.Fence, o.Kind, o.RetryIn, o.Error, nil)
	if !a.Applied {
		return a, s.noteRefused(&c, a, j.Fence, ledger.Said(string(o.Kind), o.Error))
	}
	if was.State == ledger.Done {
		return a, nil // the same word again
	}
	if c.State == ledger.Done {
		delete(s.db.granted, c.ID)
		s.done = append(s.done, c.ID)
	} else if err := s.saveClaim(&c); err != nil {
		return a, err
	}
	if o.Kind != ledger.GivenBack {
		if err := s.logged(s.settledAttempt(o, &was, &c), j.DeliveryID); err != nil {
			return a, err
		}
	}
	if err := s.settledMessage(&c, j); err != nil {
		return a, err
	}
	if c.State == ledger.Done && !was.State.Held() {
		if err := s.uncancel(c.ID); err != nil {
			return a, err
		}
	}
	if o.Disable != "" {
		return a, s.disableEndpoint(&j.Endpoint, o.Disable)
	}
	return a, nil
}

// free writes what is done, all at once, deletes its messages, and gives back their slots.
func (s *settling) free() error {
	if len(s.done) > 0 {
		if _, err := s.exec("claim_done", at(s.now), idList(s.done)); err != nil {
			return err
		}
		s.done = nil
	}
	return s.acked.each(s.ack)
}

// settledAttempt stores the attempt's row.
func (t *tx) settledAttempt(o *webhook.Outcome, was, c *ledger.Claim) error {
	row := o.Attempt(t.now, c.NextAt)
	if was.State.Held() {
		return t.addAttempt(o.Job.DeliveryID, c, row)
	}
	return t.amendAttempt(o.Job.DeliveryID, c, row)
}

// settledMessage lets the message that carries a delivery's claim follow that: see [webhook.Follow]. To remove it, it need
// not be read.
func (s *settling) settledMessage(c *ledger.Claim, j *webhook.Job) error {
	if c.State == ledger.Done {
		s.acked.add(c.MessageID, j.Endpoint.ID)
		return nil
	}
	m, ok, err := s.messageByID(c.MessageID)
	if err != nil || !ok {
		return err
	}
	was := m
	change, save := webhook.Follow(s.now, c, &m, j.Lease, deliveryDLQ)
	if !save {
		return nil
	}
	return s.applyChange(&was, &m, change)
}

// ack deletes deliveries' messages, which have no body, and gives back their slots: where they mostly are, or wherever they are.
func (s *settling) ack(endpoint int64, messages []int64) error {
	n, err := s.exec("delivery_ack", idList(messages), endpoint)
	if err != nil {
		return err
	}
	if n > 0 {
		c := s.tallyOf(deliveriesQueue)
		c.total, c.leased = c.total-n, c.leased-n
		if err := s.addSlots(endpoint, -int(n)); err != nil {
			return err
		}
		s.wake(deliveriesQueue, s.now)
	}
	if int(n) == len(messages) {
		return nil
	}
	for _, id := range messages {
		m, ok, err := s.messageByID(id)
		if err != nil {
			return err
		}
		if ok {
			if err := s.removeMessage(&m); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeMessage deletes a message wherever it is, and gives back the slot it holds.
func (t *tx) removeMessage(m *queue.Row) error {
	was := *m
	return t.applyChange(&was, m, m.Remove())
}

// uncancel shows a delivery whose late success came after it was cancelled as what it is.
func (t *tx) uncancel(claim int64) error {
	d, ok, err := t.deliveryByClaim(claim)
	if err != nil || !ok || d.CancelledAt.IsZero() {
		return err
	}
	d.CancelledAt = time.Time{}
	return t.saveDelivery(&d)
}

// disableEndpoint disables an endpoint that still has the address which said so.
func (t *tx) disableEndpoint(e *webhook.Endpoint, why string) error {
	if n, err := t.exec("endpoint_disable", why, at(t.now), e.ID, e.URL); err != nil || n == 0 {
		return err
	}
	_, err := t.exec("group_disable", e.ID)
	return err
}

// noteRefused records a worker's word that changed nothing, and keeps the newest of such notes.
func (t *tx) noteRefused(c *ledger.Claim, a ledger.Applied, fence int64, word string) error {
	if err := t.note(c.ID, a.Refused(fence, word)); err != nil {
		return err
	}
	return t.trimNotes(c.ID)
}
