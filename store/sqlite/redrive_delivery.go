package sqlite

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// letter is a delivery's dead letter with what a filter looks at.
type letter struct {
	message  int64
	endpoint int64
	delivery int64 // 0: it is of a former send
	state    ledger.State
	policy   ledger.Policy
	madeAt   time.Time
	tenant   string
}

func loadLetter(r scanner) (l letter, err error) {
	var state, policy string
	err = r.Scan(&l.message, &l.endpoint, toInt(&l.delivery), toText(&state), toText(&policy), toTime(&l.madeAt), toText(&l.tenant))
	l.state, l.policy = ledger.State(state), toPolicy(policy)
	return l, err
}

// concern is what of one endpoint a redrive concerns.
type concern struct{ total, left int64 }

// concerns are those of a redrive, by endpoint. Up to which dead letter they were counted is in the filter.
type concerns struct {
	parts  map[int64]concern
	filter webhook.RedriveFilter
}

// RedriveDeliveries begins to send dead deliveries again, or only counts them.
func (db *DB) RedriveDeliveries(ctx context.Context, c webhook.RedriveCall) (out queue.Redrive, err error) {
	all, err := lookAhead(ctx, db, "redrive_deliveries", func(t *tx) (concerns, error) { return t.concerned(&c) })
	if err != nil {
		return out, err
	}
	parts := all.parts
	r := redrive{
		Redrive: queue.Redrive{Project: c.Project, Rate: c.Rate, DryRun: c.DryRun, State: queue.Running},
		QueueID: deliveriesQueue, Canary: c.Canary, Who: c.Who,
	}
	if r.Filter, err = json.Marshal(all.filter); err != nil {
		return out, err
	}
	err = db.write(ctx, "redrive_deliveries", 64*len(parts), func(t *tx) error {
		if c.EndpointID != 0 {
			if _, err := t.endpointOf(c.Project, c.EndpointID); err != nil {
				return err
			}
		}
		r.Total, r.Left = 0, 0
		for _, n := range parts {
			if r.Total += n.total; c.DryRun {
				r.Left += n.left
			}
		}
		if err := t.insertRedrive(&r); err != nil {
			return err
		}
		out = r.Redrive
		if c.DryRun {
			return nil
		}
		return t.insertParts(&r, parts)
	})
	return out, err
}

func (t *tx) insertParts(r *redrive, parts map[int64]concern) error {
	for _, endpoint := range slices.Sorted(maps.Keys(parts)) {
		if running, err := t.ids("redrive_part_running", endpoint); err != nil || len(running) > 0 {
			if err == nil {
				err = webhook.RedriveRunning()
			}
			return err
		}
		p := webhook.NewPart(endpoint, parts[endpoint].total, r.Canary)
		if _, err := t.exec("redrive_part_insert", r.ID, endpoint, p.State, p.Total); err != nil {
			return err
		}
	}
	return nil
}

// concerned counts the dead letters that match, by endpoint: the first c.Max of them by id.
func (t *tx) concerned(c *webhook.RedriveCall) (concerns, error) {
	f, parts, news, total := c.Filter(), map[int64]concern{}, map[int64]webhook.PartNews{}, int64(0)
	for after := int64(0); ; {
		looked := 0
		var page []letter
		err := t.each("redrive_letters", func(r scanner) error {
			l, err := loadLetter(r)
			after, looked = l.message, looked+1
			if err == nil && (f.EndpointID == 0 || l.endpoint == f.EndpointID) && f.Has(l.state, l.madeAt, l.tenant) && (f.Max == 0 || total < f.Max) {
				page = append(page, l)
				f.Through = l.message
				total++
			}
			return err
		}, c.Project, after, scanRows)
		if err != nil {
			return concerns{}, err
		}
		for _, l := range page {
			n, known := news[l.endpoint]
			if !known {
				e, ok, err := t.endpoint(l.endpoint)
				if err != nil {
					return concerns{}, err
				}
				n = webhook.PartNews{Gone: !ok, Disabled: e.Disabled, Canaries: c.Canary}
				news[l.endpoint] = n
			}
			p := parts[l.endpoint]
			p.total++
			p.left += n.WouldLeave(ledger.Claim{State: l.state, Policy: l.policy}, 1)
			parts[l.endpoint] = p
		}
		if looked < scanRows || f.Max > 0 && total == f.Max {
			return concerns{parts, f}, nil
		}
	}
}

// part is one endpoint's part of a redrive.
type part struct {
	webhook.RedrivePart
	last int64 // the dead letter looked at last
}

const partsAtOnce = 200

func (t *tx) parts(name string, args ...any) (out []part, err error) {
	err = t.each(name, func(s scanner) error {
		var p part
		err := s.Scan(&p.EndpointID, &p.State, toInt(&p.CanaryID), &p.last, &p.Total, &p.Moved, &p.Left)
		out = append(out, p)
		return err
	}, args...)
	return out, err
}

// RedriveParts lists a redrive's endpoints.
func (db *DB) RedriveParts(ctx context.Context, project, id int64, p queue.Page) (out []webhook.RedrivePart, err error) {
	err = db.read(ctx, "redrive_parts", func(t *tx) error {
		if _, err := t.redriveByID(project, id); err != nil {
			return err
		}
		parts, err := t.parts("redrive_part_list", id, before(p.After), pageSize(p))
		for _, p := range parts {
			out = append(out, p.RedrivePart)
		}
		return err
	})
	return out, err
}

// stepDeliveryRedrive moves at most limit dead deliveries of r back, with their claims, and counts them in r. over: no part is left that goes
// on; idle: nothing is to be done before a canary is heard of.
func (t *tx) stepDeliveryRedrive(r *redrive, limit int) (over, idle bool, err error) {
	var f webhook.RedriveFilter
	if err := json.Unmarshal(r.Filter, &f); err != nil {
		return false, false, err
	}
	out, err := t.parts("redrive_part_canaries", r.ID, partsAtOnce)
	if err != nil {
		return false, false, err
	}
	ready, err := t.parts("redrive_part_step", r.ID, partsAtOnce)
	if err != nil {
		return false, false, err
	}
	over, idle = true, true
	look := scanRows
	for _, p := range append(out, ready...) {
		was := p
		if err := t.hear(r, &p); err != nil {
			return false, false, err
		}
		if limit > 0 && look > 0 && !p.State.Over() && p.State != webhook.PartCanary {
			n, err := t.stepPart(r, &f, &p, limit, &look)
			if err != nil {
				return false, false, err
			}
			limit -= n
		}
		over = over && p.State.Over()
		if p == was {
			continue
		}
		idle = false
		r.Total, r.Moved, r.Left = r.Total+p.Total-was.Total, r.Moved+p.Moved-was.Moved, r.Left+p.Left-was.Left
		if _, err := t.exec("redrive_part_save", p.State, orNull(p.CanaryID), p.last, p.Total, p.Moved, p.Left, r.ID, p.EndpointID); err != nil {
			return false, false, err
		}
	}
	return over && len(out) < partsAtOnce && len(ready) < partsAtOnce, idle, nil
}

// hear tells a part how its endpoint and its canary are.
func (t *tx) hear(r *redrive, p *part) error {
	e, ok, err := t.endpoint(p.EndpointID)
	if err != nil {
		return err
	}
	n := webhook.PartNews{Gone: !ok, Disabled: e.Disabled, Canaries: r.Canary}
	if p.State == webhook.PartCanary {
		var d delivery
		if ok, err := found(loadDelivery(t.row("delivery_by_id", p.CanaryID), &d)); err != nil {
			return err
		} else if ok {
			c, _, err := t.claimByID(d.ClaimID)
			if err != nil {
				return err
			}
			n.Claim, n.Tries, n.Cancelled = c.State, c.Tries, !d.CancelledAt.IsZero()
		}
	}
	p.Hear(n)
	return nil
}

// stepPart moves at most limit of an endpoint's, looking at no more than look, and answers how many it moved.
func (t *tx) stepPart(r *redrive, f *webhook.RedriveFilter, p *part, limit int, look *int) (moved int, err error) {
	for moved < limit && *look > 0 {
		var page []letter
		err := t.each("redrive_letters_endpoint", func(s scanner) error {
			l, err := loadLetter(s)
			page = append(page, l)
			return err
		}, p.EndpointID, p.last, at(r.CreatedAt), f.Through, scanStep)
		if err != nil {
			return moved, err
		}
		for _, l := range page {
			if f.Max > 0 && p.Moved+p.Left == p.Total {
				break
			}
			if moved == limit || p.State == webhook.PartCanary {
				return moved, nil
			}
			if p.last = l.message; l.delivery == 0 || l.state == "" || !f.Has(l.state, l.madeAt, l.tenant) {
				continue
			}
			switch went, err := t.redriveDelivery(l, r.Who, p.State == webhook.PartWaiting); {
			case err != nil:
				return moved, err
			case went:
				p.Move(l.delivery)
				moved++
			default:
				p.Leave()
			}
		}
		if p.State == webhook.PartCanary {
			return moved, nil // the others are looked for once it is heard of
		}
		if len(page) < scanStep || f.Max > 0 && p.Moved+p.Left == p.Total {
			p.End(webhook.PartEnded)
			return moved, nil
		}
		*look -= len(page)
	}
	return moved, nil
}

// redriveDelivery sends a dead delivery back, its claim reopened, and reports whether it did: not if its endpoint is
// gone, or if it is stuck under policy once, which a person has to resolve.
func (t *tx) redriveDelivery(l letter, who string, canary bool) (bool, error) {
	m, ok, err := t.messageByID(l.message)
	if err != nil || !ok {
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
