package sqlite

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/onceward/onceward/idempotency"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

var _ webhook.Deliveries = (*DB)(nil)

// Send stores events with their deliveries.
func (db *DB) Send(ctx context.Context, events ...webhook.NewEvent) ([]webhook.Sent, error) {
	out := make([]webhook.Sent, len(events))
	size := 0
	for i := range events {
		size += len(events[i].Payload) + 1024
	}
	err := db.writeHot(ctx, "send", 1, size, func(t *tx) error {
		for i := range events {
			s, err := t.send(&events[i])
			if refusal, ok := errors.AsType[*fault.Error](err); ok {
				s = webhook.Sent{EventID: events[i].EventID, Err: refusal} // it comes before the first write
			} else if err != nil {
				return err
			}
			out[i] = s
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// send stores one event, unless its request's key or its own id is known: the key is looked at first.
func (t *tx) send(n *webhook.NewEvent) (webhook.Sent, error) {
	if n.Request != nil {
		event, err := t.requested(n.Request)
		if err != nil {
			return webhook.Sent{}, err
		}
		if event != 0 {
			return t.sent(event)
		}
	}
	targets, refusal := t.targets(n)
	if refusal == nil {
		s, stored, err := t.store(n, targets)
		if err != nil || stored {
			return s, err
		}
	}
	var event int64
	var hash []byte
	var createdAt time.Time
	known, err := found(t.row("event_known", n.Project, n.EventID).Scan(&event, &hash, toTime(&createdAt)))
	if err != nil || !known {
		return webhook.Sent{}, cmp.Or(err, refusal)
	}
	if err := n.Again(hash); err != nil {
		return webhook.Sent{}, err
	}
	if err := t.keepRequest(n.Request, event); err != nil {
		return webhook.Sent{}, err
	}
	return t.sent(event)
}

// store stores an event and its deliveries: false if its id is known.
func (t *tx) store(n *webhook.NewEvent, targets []target) (webhook.Sent, bool, error) {
	event, err := t.id(seqEvents)
	if err != nil {
		return webhook.Sent{}, false, err
	}
	stored, err := t.exec("event_insert", event, n.Project, n.EventID, n.Type, textOrNull(n.Tenant), textOrNull(n.Subject), n.Hash, n.Payload, at(t.now))
	if err != nil || stored == 0 {
		return webhook.Sent{}, false, err
	}
	s := webhook.Sent{EventID: n.EventID, CreatedAt: t.now}
	for i := range targets {
		id, err := t.deliver(n, event, &targets[i])
		if err != nil {
			return webhook.Sent{}, false, err
		}
		s.Deliveries = append(s.Deliveries, webhook.SentTo{ID: id, EndpointID: targets[i].id})
	}
	return s, true, t.keepRequest(n.Request, event)
}

// requested gives the event that was stored under a request's key; 0 if the key is free.
func (t *tx) requested(r *idempotency.Request) (event int64, err error) {
	var hash []byte
	var expiresAt time.Time
	known, err := found(t.row("request_key_get", r.Project, r.Scope, r.Key).Scan(&hash, toInt(&event), toTime(&expiresAt)))
	switch {
	case err != nil || !known || !expiresAt.After(t.now):
		return 0, err
	case event == 0: // another call's
		hash = nil
	}
	return event, r.Again(hash)
}

func (t *tx) keepRequest(r *idempotency.Request, event int64) error {
	if r == nil {
		return nil
	}
	_, err := t.exec("request_key_event", r.Project, r.Scope, r.Key, r.Hash, event, at(t.now.Add(idempotency.Window)))
	return err
}

// sent gives the first answer of an event again.
func (t *tx) sent(event int64) (webhook.Sent, error) {
	s := webhook.Sent{Replay: true}
	if err := t.row("event_sent", event).Scan(&s.EventID, toTime(&s.CreatedAt)); err != nil {
		return webhook.Sent{}, err
	}
	err := t.each("event_deliveries", func(r scanner) error {
		var to webhook.SentTo
		err := r.Scan(&to.ID, &to.EndpointID)
		s.Deliveries = append(s.Deliveries, to)
		return err
	}, event)
	return s, err
}

// target is what a delivery copies from its endpoint.
type target struct {
	id       int64
	tenant   string
	types    []string
	ladder   string
	policy   string
	maxTries int
	window   time.Duration
}

func (t *tx) readTarget(r scanner) (g target, err error) {
	var types string
	if err := r.Scan(&g.id, toText(&g.tenant), &types, &g.ladder, &g.policy, toSpan(&g.window)); err != nil {
		return target{}, err
	}
	if g.types, err = decoded[[]string](t.session, types); err != nil {
		return target{}, err
	}
	rungs, err := decoded[[]float64](t.session, g.ladder)
	g.maxTries = 1 + len(rungs)
	return g, err
}

// targets gives the endpoints that an event goes to, by id: the tenant's subscribers, disabled ones too, or those named.
func (t *tx) targets(n *webhook.NewEvent) (out []target, err error) {
	if n.Endpoints == nil {
		err = t.each("endpoint_subscribers", func(r scanner) error {
			g, err := t.readTarget(r)
			if err == nil && (&webhook.Endpoint{EventTypes: g.types}).Subscribes(n.Type) {
				out = append(out, g)
			}
			return err
		}, n.Project, textOrNull(n.Tenant))
		return out, err
	}
	seen := map[int64]bool{}
	for i, id := range n.Endpoints {
		if seen[id] {
			continue
		}
		seen[id] = true
		g, err := t.readTarget(t.row("endpoint_target", id, n.Project))
		switch ok, err := found(err); {
		case err != nil:
			return nil, err
		case !ok:
			return nil, webhook.NotForThese(i, false)
		case g.tenant != n.Tenant:
			return nil, webhook.NotForThese(i, true)
		}
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b target) int { return cmp.Compare(a.id, b.id) })
	return out, nil
}

// deliver stores a delivery with its claim and its message.
func (t *tx) deliver(n *webhook.NewEvent, event int64, g *target) (int64, error) {
	claim, err := t.id(seqClaims)
	if err != nil {
		return 0, err
	}
	id, err := t.id(seqDeliveries)
	if err != nil {
		return 0, err
	}
	c := ledger.Claim{
		ID: claim, Project: n.Project, Hash: webhook.ClaimHash(n.Project, g.id, n.EventID, 1), Policy: toPolicy(g.policy),
		State: ledger.New, MaxTries: g.maxTries, Window: g.window, OriginAt: t.now, CreatedAt: t.now,
	}
	if err := t.addMessage(&c, g.id, t.now); err != nil {
		return 0, err
	}
	if err := t.insertClaim(&c, deliveryClaim); err != nil {
		return 0, err
	}
	return id, t.insertDelivery(&delivery{
		ID: id, Project: n.Project, Event: event, Endpoint: g.id, ClaimID: claim, Sends: 1,
		Cause: webhook.ByEvent, Ladder: g.ladder, CreatedAt: t.now,
	})
}
