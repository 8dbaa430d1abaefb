package sqlite

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// deliveryFilter is what a redrive of deliveries concerns, as its row keeps it.
type deliveryFilter struct {
	EndpointID int64           `json:"endpoint_id,omitempty"`
	Tenant     string          `json:"tenant,omitempty"`
	States     []webhook.State `json:"states,omitempty"` // none: all that are dead
	From       time.Time       `json:"from,omitzero"`    // of the delivery's creation
	To         time.Time       `json:"to,omitzero"`
	Max        int64           `json:"max,omitempty"`
}

// letter is a delivery's dead letter with what a filter looks at.
type letter struct {
	message  int64
	endpoint int64
	delivery int64
	state    ledger.State
	madeAt   time.Time
	tenant   string
}

func loadLetter(r scanner) (l letter, err error) {
	err = r.Scan(&l.message, &l.endpoint, &l.delivery, &l.state, toTime(&l.madeAt), toText(&l.tenant))
	return l, err
}

func (f *deliveryFilter) matches(l letter) bool {
	return (f.EndpointID == 0 || l.endpoint == f.EndpointID) && (f.Tenant == "" || l.tenant == f.Tenant) &&
		(len(f.States) == 0 || slices.Contains(f.States, webhook.State(l.state))) &&
		(f.From.IsZero() || !l.madeAt.Before(f.From)) && (f.To.IsZero() || l.madeAt.Before(f.To))
}

// RedriveDeliveries begins to send dead deliveries again, or only counts them.
func (db *DB) RedriveDeliveries(ctx context.Context, c webhook.RedriveCall) (out queue.Redrive, err error) {
	f := deliveryFilter{EndpointID: c.EndpointID, Tenant: c.Tenant, States: c.States, From: c.From.UTC(), To: c.To.UTC(), Max: c.Max}
	if c.From.IsZero() {
		f.From = time.Time{}
	}
	if c.To.IsZero() {
		f.To = time.Time{}
	}
	filter, err := json.Marshal(f)
	if err != nil {
		return out, err
	}
	var parts map[int64]int64
	err = db.read(ctx, "redrive_deliveries", func(t *tx) error { // beside the writer: there may be many
		parts, err = t.concerned(c.Project, &f)
		return err
	})
	if err != nil {
		return out, err
	}
	err = db.write(ctx, "redrive_deliveries", 64*len(parts), func(t *tx) error {
		if c.EndpointID != 0 {
			if _, err := t.endpointOf(c.Project, c.EndpointID); err != nil {
				return err
			}
		}
		r := redrive{
			Redrive: queue.Redrive{Project: c.Project, Filter: filter, Rate: c.Rate, DryRun: c.DryRun, State: queue.Running},
			QueueID: deliveriesQueue, Canary: c.Canary, Who: c.Who,
		}
		for _, n := range parts {
			r.Total += n
		}
		if c.DryRun {
			r.State, r.FinishedAt = queue.Completed, t.now
		}
		if err := t.insertRedrive(&r); err != nil {
			return err
		}
		out = r.Redrive
		if c.DryRun {
			return nil
		}
		state := partOpen
		if c.Canary {
			state = partWaiting
		}
		for endpoint, n := range parts {
			if _, err := t.exec("redrive_part_insert", r.ID, endpoint, state, n); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// concerned counts the dead letters that match, by endpoint: the first f.Max of them by id.
func (t *tx) concerned(project int64, f *deliveryFilter) (map[int64]int64, error) {
	parts, total := map[int64]int64{}, int64(0)
	for after := int64(0); ; {
		looked := 0
		err := t.each("redrive_letters", func(r scanner) error {
			l, err := loadLetter(r)
			after, looked = l.message, looked+1
			if err == nil && f.matches(l) && (f.Max == 0 || total < f.Max) {
				parts[l.endpoint]++
				total++
			}
			return err
		}, project, after, at(t.now), scanRows)
		if err != nil || looked < scanRows || f.Max > 0 && total == f.Max {
			return parts, err
		}
	}
}

// The states of a redrive's part.
const (
	partWaiting = "waiting" // for its canary to be sent, or for that one's outcome
	partOpen    = "open"
)

// part is one endpoint's part of a redrive.
type part struct {
	redrive  int64
	endpoint int64
	state    string
	canary   int64 // the delivery that went first; 0: none yet
	after    int64 // the dead letter looked at last
	n        int64 // how many the redrive still concerns
}

// stepDeliveryRedrive moves at most limit dead deliveries of r back, with their claims, and counts them in r.
func (db *DB) stepDeliveryRedrive(t *tx, r *redrive, limit int) error {
	var f deliveryFilter
	if err := json.Unmarshal(r.Filter, &f); err != nil {
		return err
	}
	var parts []part
	err := t.each("redrive_part_list", func(s scanner) error {
		p := part{redrive: r.ID}
		err := s.Scan(&p.endpoint, &p.state, toInt(&p.canary), &p.after, &p.n)
		parts = append(parts, p)
		return err
	}, r.ID)
	if err != nil {
		return err
	}
	running := 0
	for i := range parts {
		p := &parts[i]
		if limit <= 0 {
			running++
			continue
		}
		over, taken, err := t.stepPart(r, &f, p, limit)
		if err != nil {
			return err
		}
		limit -= taken
		if !over {
			running++
			_, err = t.exec("redrive_part_save", p.state, orNull(p.canary), p.after, p.n, p.redrive, p.endpoint)
		} else {
			r.Left += p.n // nobody is left to look at: refused, or taken by somebody else meanwhile
			_, err = t.exec("redrive_part_delete", p.redrive, p.endpoint)
		}
		if err != nil {
			return err
		}
	}
	if running == 0 {
		r.State = queue.Completed
	}
	return nil
}

// stepPart moves at most limit of an endpoint's, and answers whether its part is over and how many it took.
func (t *tx) stepPart(r *redrive, f *deliveryFilter, p *part, limit int) (over bool, taken int, err error) {
	if p.state == partWaiting && p.canary != 0 {
		switch passed, waits, err := t.canary(p.canary); {
		case err != nil || waits:
			return false, 0, err
		case !passed:
			return true, 0, nil
		}
		p.state = partOpen
	}
	for looked := 0; taken < limit && p.n > 0 && looked < scanRows; {
		var page []letter
		err := t.each("redrive_letters_endpoint", func(s scanner) error {
			l, err := loadLetter(s)
			page = append(page, l)
			return err
		}, p.endpoint, p.after, at(r.CreatedAt), scanStep)
		if err != nil {
			return false, taken, err
		}
		for _, l := range page {
			if taken == limit || p.n == 0 {
				return p.n == 0, taken, nil
			}
			p.after = l.message
			if !f.matches(l) {
				continue
			}
			taken++
			p.n--
			moved, err := t.redriveDelivery(l, r.Who, p.state == partWaiting)
			switch {
			case err != nil:
				return false, taken, err
			case !moved:
				r.Left++
			case p.state == partWaiting:
				r.Moved++
				p.canary = l.delivery
				return p.n == 0, taken, nil
			default:
				r.Moved++
			}
		}
		if len(page) < scanStep {
			return true, taken, nil
		}
		looked += len(page)
	}
	return p.n == 0, taken, nil
}

// canary reports what became of the delivery that went first: it passed if it was delivered, and waits while its first
// try has no outcome.
func (t *tx) canary(id int64) (passed, waits bool, err error) {
	var d delivery
	ok, err := found(loadDelivery(t.row("delivery_by_id", id), &d))
	if err != nil || !ok {
		return false, false, err
	}
	c, ok, err := t.claimByID(d.ClaimID)
	if err != nil || !ok {
		return false, false, err
	}
	return c.State == ledger.Done, c.State.Held() || c.State == ledger.Retry && c.Tries == 0, nil
}

// redriveDelivery sends a dead delivery back, its claim reopened, and reports whether it did: not if its endpoint is
// gone, or if it is stuck under policy once, which a person has to resolve.
func (t *tx) redriveDelivery(l letter, who string, canary bool) (bool, error) {
	m, ok, err := t.messageByID(l.message)
	if err != nil || !ok {
		return false, err
	}
	if _, ok, err = t.endpoint(l.endpoint); err != nil || !ok {
		return false, err
	}
	d, ok, err := t.deliveryByClaim(m.ClaimID)
	if err != nil || !ok {
		return false, err
	}
	if moved, err := t.redriveMessage(&m, who); err != nil || !moved {
		return false, err
	}
	d.Cause = webhook.ByRedrive
	if canary {
		d.Cause = webhook.ByCanary
	}
	return true, t.saveDelivery(&d)
}
