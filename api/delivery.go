package api

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

var stateNames = []string{
	string(webhook.Pending), string(webhook.Sending), string(webhook.Retrying), string(webhook.Delivered), string(webhook.Failed), string(webhook.Stuck), string(webhook.Cancelled),
}

// filter reads what picks events and deliveries.
func (q query) filter() (webhook.Filter, error) {
	f := webhook.Filter{
		Project: q.c.project, State: webhook.State(q.get("state")), EventType: q.get("event_type"), EventID: q.get("event_id"),
		Tenant: q.get("tenant"), Subject: q.get("subject"),
	}
	if f.State != "" && !slices.Contains(stateNames, string(f.State)) {
		return f, parameter("state", "state is %s; it must be %s", fault.Quote(string(f.State)), strings.Join(stateNames, ", "))
	}
	if s := q.get("endpoint_id"); s != "" {
		id, ok := q.c.IDs.Decode(ids.Endpoint, q.c.project, s)
		if !ok {
			return f, noEndpoint("/endpoint_id", s)
		}
		f.EndpointID = id
	}
	var err error
	if f.From, err = q.time("from"); err != nil {
		return f, err
	}
	if f.To, err = q.time("to"); err != nil {
		return f, err
	}
	f.Page, err = q.page()
	return f, err
}

func (c *call) listDeliveries() (any, error) {
	f, err := c.query.filter()
	if err != nil {
		return nil, err
	}
	rows, next, err := c.Store.Deliveries(c.ctx, f)
	if err != nil {
		return nil, err
	}
	return list[deliveryView]{views(rows, c.viewDelivery), c.query.next(next)}, nil
}

func (c *call) getDelivery() (any, error) {
	id, err := c.pathID(ids.Delivery)
	if err != nil {
		return nil, err
	}
	d, err := c.Store.Delivery(c.ctx, c.project, id)
	return c.viewDelivery(d), err
}

// maxNote is the most bytes of what a person says of an act.
const maxNote = 1024

func (c *call) act(field string, note *string) (webhook.Act, error) {
	id, err := c.pathID(ids.Delivery)
	if err != nil {
		return webhook.Act{}, err
	}
	a := webhook.Act{Project: c.project, ID: id, Who: c.who(), Note: or(note, "")}
	if len(a.Note) > maxNote {
		return a, fault.Invalid("/"+field, "%s has %d bytes; at most %d", field, len(a.Note), maxNote)
	}
	return a, nil
}

type resendRequest struct {
	keyed
	Reason *string `json:"reason"`
	NewKey bool    `json:"new_key"`
}

func (c *call) resendDelivery() (any, error) {
	var r resendRequest
	if err := c.decodeOptional(&r); err != nil {
		return nil, err
	}
	a, err := c.act("reason", r.Reason)
	if err != nil {
		return nil, err
	}
	same := struct {
		Reason string
		NewKey bool
	}{a.Note, r.NewKey}
	return c.once(r.Key, same, func(ctx context.Context) (any, error) {
		d, err := c.Store.Resend(ctx, a, r.NewKey)
		return c.viewDelivery(d), err
	})
}

type resolveRequest struct {
	keyed
	As   *string `json:"as"`
	Note *string `json:"note"`
}

func (c *call) resolveDelivery() (any, error) {
	var r resolveRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	a, err := c.act("note", r.Note)
	if err != nil {
		return nil, err
	}
	as, ok := map[string]ledger.State{"delivered": ledger.Done, "retry": ledger.Retry, "failed": ledger.Failed}[or(r.As, "")]
	if !ok {
		return nil, fault.Invalid("/as", "as is %s; it must be \"delivered\", \"retry\" or \"failed\"", fault.Quote(or(r.As, "")))
	}
	d, err := c.Store.Resolve(c.ctx, a, as)
	return c.viewDelivery(d), err
}

type cancelRequest struct {
	keyed
	Reason *string `json:"reason"`
}

func (c *call) cancelDelivery() (any, error) {
	var r cancelRequest
	if err := c.decodeOptional(&r); err != nil {
		return nil, err
	}
	a, err := c.act("reason", r.Reason)
	if err != nil {
		return nil, err
	}
	d, err := c.Store.Cancel(c.ctx, a)
	return c.viewDelivery(d), err
}

type redriveDeliveriesRequest struct {
	keyed
	EndpointID *string         `json:"endpoint_id"`
	Tenant     *string         `json:"tenant"`
	States     []webhook.State `json:"states"`
	From       moment          `json:"from"`
	To         moment          `json:"to"`
	Max        *whole          `json:"max"`
	Rate       optionalNumber  `json:"rate_per_second"`
	DryRun     bool            `json:"dry_run"`
	Canary     *bool           `json:"canary"`
}

// redriveDeliveries begins to send dead deliveries again.
func (c *call) redriveDeliveries() (any, error) {
	var r redriveDeliveriesRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	in := webhook.RedriveCall{
		Project: c.project, Tenant: or(r.Tenant, ""), States: r.States, From: r.From.Time, To: r.To.Time,
		Max: or(r.Max, whole{}).n, Rate: r.Rate.f, DryRun: r.DryRun, Canary: or(r.Canary, true), Who: c.who(),
	}
	if err := checkRedrive(&r); err != nil {
		return nil, err
	}
	if r.States == nil {
		in.States = []webhook.State{webhook.Failed}
	}
	slices.Sort(in.States)
	in.States = slices.Compact(in.States)
	if r.EndpointID != nil {
		id, ok := c.IDs.Decode(ids.Endpoint, c.project, *r.EndpointID)
		if !ok {
			return nil, noEndpoint("/endpoint_id", *r.EndpointID)
		}
		in.EndpointID = id
	}
	same := in
	same.Who = ""
	return c.once(r.Key, same, func(ctx context.Context) (any, error) {
		d, err := c.Store.RedriveDeliveries(ctx, in)
		return c.viewRedrive(d), err
	})
}

func checkRedrive(r *redriveDeliveriesRequest) error {
	if err := notEmpty(r.Tenant); err != nil {
		return err
	}
	if err := wholeIn("/max", r.Max, 1, 1<<53); err != nil {
		return err
	}
	if err := rateIn("/rate_per_second", r.Rate); err != nil {
		return err
	}
	if r.States != nil && len(r.States) == 0 {
		return fault.Invalid("/states", "states is empty; it must have \"failed\", \"stuck\" or both")
	}
	for i, s := range r.States {
		if s != webhook.Failed && s != webhook.Stuck {
			return fault.Invalid("/states/"+strconv.Itoa(i), "states has %s; it must have \"failed\", \"stuck\" or both", fault.Quote(string(s)))
		}
	}
	if !r.From.IsZero() && !r.To.IsZero() && !r.From.Before(r.To.Time) {
		return fault.Invalid("/to", "to is %s; it must be after from, %s", r.To.Format(time.RFC3339Nano), r.From.Format(time.RFC3339Nano))
	}
	return nil
}
