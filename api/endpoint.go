package api

import (
	"context"
	"strconv"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// endpointRequest is the body of an endpoint's making and of its change.
type endpointRequest struct {
	keyed
	URL         *string        `json:"url"`
	Tenant      *string        `json:"tenant"`
	EventTypes  *[]string      `json:"event_types"`
	Description *string        `json:"description"`
	Headers     stringMap      `json:"headers"`
	Secret      *string        `json:"secret"`
	Timeout     seconds        `json:"timeout_seconds"`
	Ladder      *[]seconds     `json:"retry_ladder"`
	Retry4xx    *bool          `json:"retry_4xx"`
	Policy      *ledger.Policy `json:"policy"`
	Window      seconds        `json:"receiver_window_seconds"`
	MaxInFlight *whole         `json:"max_in_flight"`
	Rate        optionalNumber `json:"rate_per_second"`
}

func (r *endpointRequest) spec() (webhook.EndpointSpec, error) {
	s := webhook.EndpointSpec{
		URL: r.URL, Tenant: r.Tenant, Description: r.Description, EventTypes: r.EventTypes, Secret: r.Secret,
		Timeout: r.Timeout.ptr(), Retry4xx: r.Retry4xx, Policy: r.Policy, Window: r.Window.ptr(), WindowForever: r.Window.null,
		Rate: r.Rate.ptr(), RateNone: r.Rate.null,
	}
	if r.MaxInFlight != nil {
		s.MaxInFlight = new(int(r.MaxInFlight.n))
	}
	if r.Headers != nil {
		s.Headers = new(r.Headers.plain())
	}
	if r.Ladder != nil {
		rungs := make([]time.Duration, len(*r.Ladder))
		for i, d := range *r.Ladder {
			rungs[i] = d.d // null is 0, which is no rung
		}
		s.Ladder = &rungs
	}
	if err := r.inRange(); err != nil {
		return s, err
	}
	return s, notEmpty(r.Tenant)
}

// inRange refuses numbers out of range, as they came.
func (r *endpointRequest) inRange() error {
	if err := r.Timeout.in("/timeout_seconds", time.Second, webhook.MaxTimeout); err != nil {
		return err
	}
	if w := r.Window; w.given && (w.d < ledger.MinWindow || w.d > ledger.MaxWindow) {
		return fault.Invalid("/receiver_window_seconds", "receiver_window_seconds is %s; it must be 1 to %d, or null (for ever)", w.raw, int(ledger.MaxWindow.Seconds()))
	}
	for i, d := range or(r.Ladder, nil) {
		if err := d.in("/retry_ladder/"+strconv.Itoa(i), time.Second, webhook.MaxRung); err != nil {
			return err
		}
	}
	if err := wholeIn("/max_in_flight", r.MaxInFlight, 1, webhook.MaxInFlight); err != nil {
		return err
	}
	if v := r.Rate; v.given && !(v.f > 0 && v.f <= maxRate) {
		return fault.Invalid("/rate_per_second", "rate_per_second is %s; it must be above 0 and at most %d, or null (no limit)", v.raw, maxRate)
	}
	return nil
}

func (c *call) createEndpoint() (any, error) {
	var r endpointRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	spec, err := r.spec()
	if err != nil {
		return nil, err
	}
	e, secret, err := spec.New(c.project, c.Rules)
	if err != nil {
		return nil, err
	}
	same := endpointSecret{c.viewEndpoint(e), r.Secret} // its defaults filled in; a secret counts if it was given
	return c.once(r.Key, same, func(ctx context.Context) (any, error) {
		e, err := c.Store.CreateEndpoint(ctx, e)
		return endpointSecret{c.viewEndpoint(e), &secret}, err
	})
}

func (c *call) listEndpoints() (any, error) {
	p, err := c.query.page()
	if err != nil {
		return nil, err
	}
	rows, err := c.Store.Endpoints(c.ctx, webhook.Filter{Project: c.project, Tenant: c.query.get("tenant"), Page: queue.Page{After: p.After, Limit: p.Limit + 1}})
	if err != nil {
		return nil, err
	}
	rows, next := cut(rows, p.Limit, func(e webhook.Endpoint) int64 { return e.ID })
	return list[endpointView]{views(rows, c.viewEndpoint), c.query.next(next)}, nil
}

func (c *call) getEndpoint() (any, error) {
	id, err := c.pathID(ids.Endpoint)
	if err != nil {
		return nil, err
	}
	e, err := c.Store.Endpoint(c.ctx, c.project, id)
	return c.viewEndpoint(e), err
}

func (c *call) updateEndpoint() (any, error) {
	var r endpointRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	spec, err := r.spec()
	if err != nil {
		return nil, err
	}
	return c.changeEndpoint(c.ctx, func(_ time.Time, e *webhook.Endpoint) error { return spec.Apply(e, c.Rules) })
}

func (c *call) changeEndpoint(ctx context.Context, change func(time.Time, *webhook.Endpoint) error) (any, error) {
	id, err := c.pathID(ids.Endpoint)
	if err != nil {
		return nil, err
	}
	e, err := c.Store.UpdateEndpoint(ctx, c.project, id, change)
	return c.viewEndpoint(e), err
}

func (c *call) deleteEndpoint() (any, error) {
	id, err := c.pathID(ids.Endpoint)
	if err != nil {
		return nil, err
	}
	return deleted{true}, c.Store.DeleteEndpoint(c.ctx, c.project, id)
}

func (c *call) enableEndpoint() (any, error)  { return c.setDisabled(false, "") }
func (c *call) disableEndpoint() (any, error) { return c.setDisabled(true, "disabled by "+c.who()) }

func (c *call) setDisabled(disabled bool, reason string) (any, error) {
	if err := c.decodeOptional(&keyed{}); err != nil {
		return nil, err
	}
	return c.changeEndpoint(c.ctx, func(_ time.Time, e *webhook.Endpoint) error {
		if !disabled || !e.Disabled { // the first reason stays
			e.Disabled, e.Reason = disabled, reason
		}
		return nil
	})
}

type rotateRequest struct {
	keyed
	Secret *string `json:"secret"`
	Grace  seconds `json:"grace_seconds"`
}

func (c *call) rotateSecret() (any, error) {
	var r rotateRequest
	if err := c.decodeOptional(&r); err != nil {
		return nil, err
	}
	if err := r.Grace.in("/grace_seconds", 0, webhook.MaxGrace); err != nil {
		return nil, err
	}
	grace := or(r.Grace.ptr(), webhook.DefaultGrace)
	same := struct {
		Secret string
		Grace  int64
	}{or(r.Secret, ""), int64(grace)}
	return c.once(r.Key, same, func(ctx context.Context) (any, error) {
		var secret string
		data, err := c.changeEndpoint(ctx, func(now time.Time, e *webhook.Endpoint) (err error) {
			secret, err = webhook.Rotate(now, e, r.Secret, grace, c.Rules)
			return err
		})
		if err != nil {
			return nil, err
		}
		return endpointSecret{data.(endpointView), &secret}, nil
	})
}

// testEndpoint sends an event of its own to one endpoint, subscribed or not.
func (c *call) testEndpoint() (any, error) {
	var r keyed
	if err := c.decodeOptional(&r); err != nil {
		return nil, err
	}
	id, err := c.pathID(ids.Endpoint)
	if err != nil {
		return nil, err
	}
	return c.once(r.Key, struct{}{}, func(ctx context.Context) (any, error) {
		e, err := c.Store.Endpoint(ctx, c.project, id)
		if err != nil {
			return nil, err
		}
		now := time.Now()
		ev := webhook.NewEvent{Project: c.project, EventID: ids.NewEventID(now), Type: testEventType, Tenant: e.Tenant, Endpoints: []int64{id}}
		ev.Payload = []byte(`{"type":"` + testEventType + `","endpoint_id":"` + c.IDs.Encode(ids.Endpoint, c.project, id) + `","sent_at":"` + now.UTC().Format(timeLayout) + `"}`)
		if err := ev.SetHash(); err != nil {
			return nil, err
		}
		sent, err := c.Store.Send(ctx, ev)
		if err != nil {
			return nil, err
		}
		if sent[0].Err != nil {
			return nil, sent[0].Err
		}
		return endpointTest{c.viewEndpoint(e), c.viewSent(&sent[0])}, nil
	})
}

// testEventType is the type of the event that /test sends.
const testEventType = "webhook.test"

func noEndpoint(field, id string) error {
	return &fault.Error{Code: fault.NotFound, Field: field, Message: "there is no endpoint " + fault.Quote(id)}
}
